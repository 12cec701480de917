/** Converts a request from JSON to its message. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Refusal } from "../../../src/domain/refusal.ts";
import { compileReader } from "../../../src/transport/rest/read-json.ts";
import { UsageError } from "./failures.ts";
import type { Json } from "./output/message-json.ts";

/**
 * The message of a request. Throws `UsageError` with the path of a member that is unknown or has
 * another type.
 */
export function requestMessage(method: DescMethod, request: Json): Message {
  try {
    return compileReader(method.input)(Buffer.from(JSON.stringify(request)));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new UsageError(error.message);
  }
}
