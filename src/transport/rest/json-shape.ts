/**
 * Reads from the descriptors the form of messages in JSON over REST: names, nullability,
 * decimals, enum words, and the HTTP side of a method. Both the codec and the OpenAPI document use
 * it, so that the document always matches the server.
 */
import assert from "node:assert/strict";
import { type DescField, type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import {
  type Field as FieldOptions,
  field as fieldExtension,
} from "../../gen/proto/billing/options/v1/options_pb.ts";
import { http as httpExtension } from "../../gen/proto/google/api/annotations_pb.ts";

/** Reading them from the descriptor each time is a tenth of the API's start. */
const knownOptions = new WeakMap<DescField, FieldOptions>();

/** Returns the options of a field, which say what is special about its form in JSON. */
export function optionsOf(field: DescField): FieldOptions {
  let options = knownOptions.get(field);
  if (options === undefined) {
    options = getOption(field, fieldExtension);
    knownOptions.set(field, options);
  }
  return options;
}

/** The verbs that the contract uses. */
type Verb = "GET" | "POST";

/** The HTTP side of a method. */
export interface HttpRoute {
  readonly verb: Verb;
  /** The template with its parameters in braces: `/v1/subscriptions/{id}/units`. */
  readonly path: string;
  /** The names in the template, in order: the request's fields that the path carries. */
  readonly pathParameters: readonly string[];
  /**
   * Whether the request's other fields are the body (`body: "*"`). Otherwise they are query
   * parameters.
   */
  readonly hasBody: boolean;
}

/** Returns the HTTP rule of a method (google.api.http), or `null` if it has none. */
export function httpRoute(method: DescMethod): HttpRoute | null {
  const rule = getOption(method, httpExtension);
  const { pattern, body } = rule;
  if (pattern.case === undefined) return null;
  assert(
    pattern.case === "get" || pattern.case === "post",
    `${method}: only get and post are served`,
  );
  assert(body === "" || body === "*", `${method}: a body is the whole request or nothing`);
  return {
    verb: pattern.case === "get" ? "GET" : "POST",
    path: pattern.value,
    pathParameters: [...pattern.value.matchAll(/\{([a-z_]+)\}/g)].map(([, name = ""]) => name),
    hasBody: body === "*",
  };
}

/** Returns where each field of the method's request is sent, in the order of the proto file. */
export function requestFields(
  method: DescMethod,
  route: HttpRoute,
): Readonly<Record<"path" | "query" | "body", readonly DescField[]>> {
  const inPath = (field: DescField) => route.pathParameters.includes(field.name);
  const others = method.input.fields.filter((field) => !inPath(field));
  return {
    path: method.input.fields.filter(inPath),
    query: route.hasBody ? [] : others,
    body: route.hasBody ? others : [],
  };
}

/**
 * Returns the member's name in JSON and the parameter's in a query: the proto name, in snake_case.
 */
export function jsonName(field: DescField): string {
  return field.name;
}

/**
 * Returns the field whose text is the JSON of its whole message in responses, or null if the
 * message has none.
 */
export function verbatimField(message: DescMessage): DescField | null {
  return message.fields.find((field) => optionsOf(field).verbatim) ?? null;
}

/** Whether a query parameter holds several values separated by commas (`status=draft,paid`). */
export function isCommaSeparated(field: DescField): boolean {
  return field.fieldKind === "list";
}
