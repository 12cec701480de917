/** `billing documents explain`: how the amounts of a document came about, for a person. */
import { describeExplanation } from "../../../../domain/explanation/for-person.ts";
import type {
  Explanation,
  Unavailable,
  UnavailableReason,
} from "../../../../domain/explanation/shown.ts";
import { DocumentService } from "../../../../gen/proto/billing/admin/v1/documents_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";

/** Returns the explanation as the public API answers it. */
export async function explainDocument({ connection, request }: Work): Promise<Json> {
  const { body } = await callJson(connection, DocumentService.method.explainDocument, request);
  return JSON.parse(String(body));
}

const reasons: Readonly<Record<UnavailableReason, string>> = {
  issued_before: "it was issued before documents had explanations",
  does_not_follow: "its facts give another amount, which is a defect of the service",
};

/** Returns the lines of text for a person. */
export function explanationLines(json: Json): readonly string[] {
  const explanation = json as unknown as Explanation | Unavailable;
  if (explanation.available) return describeExplanation(explanation);
  return [`${explanation.number} has no explanation: ${reasons[explanation.reason]}.`];
}
