/** One call of a method, with JSON as request and response. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { ApiConnection } from "./connection.ts";
import { type Json, messageJson } from "./output/message-json.ts";
import { requestMessage } from "./request-message.ts";

/** Calls the method. Throws `UsageError` if the request has a member of another type. */
export async function callJson(
  connection: ApiConnection,
  method: DescMethodUnary,
  request: Json,
): Promise<Json> {
  return messageJson(method.output, await connection.call(method, requestMessage(method, request)));
}
