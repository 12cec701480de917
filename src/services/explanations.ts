/** Explanations of documents, from the facts that are stored with their lines. */
import type { MessageShape } from "@bufbuild/protobuf";
import { type DocumentToExplain, explain } from "../domain/explanation/render.ts";
import type { ExplanationSchema } from "../gen/proto/billing/v1/explanations_pb.ts";
import { presentExplanation } from "../present/explanations.ts";
import { hashName } from "../store/documents/line-facts.ts";

/** A document whose amounts do not follow from their facts: a defect of the service. */
export interface Contradiction {
  readonly organisationId: string;
  readonly documentId: string | null;
}

/** Returns the explanation of a document. Reports one that contradicts its amounts (MONEY-9). */
export function explained(
  organisationId: string,
  document: DocumentToExplain,
  onContradiction: (contradiction: Contradiction) => void,
): MessageShape<typeof ExplanationSchema> {
  const explanation = explain(document, hashName);
  if (!explanation.available && explanation.reason === "does_not_follow")
    onContradiction({ organisationId, documentId: document.id });
  return presentExplanation(explanation);
}
