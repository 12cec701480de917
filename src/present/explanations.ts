/** Converts explanations to messages. Their members are those of the format. */
import { fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
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
