/** Converts explanations to messages. Their members are those of the format. */
import { fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import type { HashName } from "../domain/explanation/price-sheet.ts";
import { type DocumentToExplain, explain } from "../domain/explanation/render.ts";
import type { Explanation, Unavailable } from "../domain/explanation/shown.ts";
import { ExplanationSchema } from "../gen/proto/billing/v1/explanations_pb.ts";

/** Returns an explanation's message. A member that the contract does not have is an error. */
export function presentExplanation(
  explanation: Explanation | Unavailable,
): MessageShape<typeof ExplanationSchema> {
  const body = JSON.stringify(explanation);
  const members: JsonObject = JSON.parse(body);
  return fromJson(ExplanationSchema, { ...members, body });
}

/** A document whose amounts do not follow from their facts: a defect of the service. */
export interface Contradiction {
  readonly organisationId: string;
  readonly documentId: string | null;
}

/** Returns the explanation of a document. Reports one that contradicts its amounts (MONEY-9). */
export function explained(
  organisationId: string,
  document: DocumentToExplain,
  hash: HashName,
  onContradiction: (contradiction: Contradiction) => void,
): MessageShape<typeof ExplanationSchema> {
  const explanation = explain(document, hash);
  if (!explanation.available && explanation.reason === "does_not_follow")
    onContradiction({ organisationId, documentId: document.id });
  return presentExplanation(explanation);
}
