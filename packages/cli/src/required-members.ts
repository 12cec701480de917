/** Refuses in words, before anything is sent, a request that lacks a member or has no id. */
import { getOption } from "@bufbuild/protobuf";
import { field as rulesExtension } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { jsonName } from "../../../src/transport/rest/json-shape.ts";
import { UsageError } from "./failures.ts";
import type { Verb } from "./noun.ts";
import type { Json } from "./output/message-json.ts";
import { flagOf, optionText } from "./request-options.ts";

/** The form of this service's ids. Any other text is a code or a name. */
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const example = "0199a0b2-6666-7000-8000-000000000001";

/** Whether a text is an id. */
export const isId = (text: string): boolean => idPattern.test(text);

/** Throws `UsageError` for the first member that is required and missing, or that must be an id. */
export function requireMembers(verb: Verb, request: Json): void {
  for (const field of verb.method.input.fields) {
    const name = jsonName(field);
    const text = optionText(verb, field);
    const value = request[name];
    if (text === undefined || verb.lookups?.[name] !== undefined || name === "organisation")
      continue;
    const { required, type } = getOption(field, rulesExtension);
    if (required && (value === undefined || value === ""))
      throw new UsageError(`--${flagOf(field)} is required: ${text}`);
    const isUuid = type.case === "string" && type.value.wellKnown.case === "uuid";
    if (isUuid && typeof value === "string" && !isId(value))
      throw new UsageError(`--${flagOf(field)} takes an id, such as ${example}, not ${value}`);
  }
}
