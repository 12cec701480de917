/**
 * What the descriptors say about JSON over REST: names, nullability, decimals, enum words, and the HTTP side of a
 * method. The codec and the OpenAPI document both ask here, so that the document cannot say other than the server does.
 */
import assert from "node:assert/strict";
import type { JsonValue } from "@bufbuild/protobuf";
import { type DescEnum, type DescEnumValue, type DescField, type DescMethod, getOption } from "@bufbuild/protobuf";
import { field as fieldExtension } from "../../gen/proto/billing/options/v1/options_pb.ts";
import { http as httpExtension } from "../../gen/proto/google/api/annotations_pb.ts";

/** The verbs that the contract uses. */
export type Verb = "GET" | "POST";

/** The HTTP side of a method. */
export interface HttpRoute {
  readonly verb: Verb;
  /** The template with its parameters in braces: `/v1/subscriptions/{id}/units`. */
  readonly path: string;
  /** The names in the template, in order: the request's fields that the path carries. */
  readonly pathParameters: readonly string[];
  /** Whether the request's other fields are the body (`body: "*"`); otherwise they are query parameters. */
  readonly hasBody: boolean;
}

/** The HTTP rule of a method, or `null` where it has none. Source: google.api.http. */
export function httpRoute(method: DescMethod): HttpRoute | null {
  const rule = getOption(method, httpExtension);
  const { pattern, body } = rule;
  if (pattern.case === undefined) return null;
  assert(pattern.case === "get" || pattern.case === "post", `${method}: only get and post are served`);
  assert(body === "" || body === "*", `${method}: a body is the whole request or nothing`);
  return {
    verb: pattern.case === "get" ? "GET" : "POST",
    path: pattern.value,
    pathParameters: [...pattern.value.matchAll(/\{([a-z_]+)\}/g)].map(([, name = ""]) => name),
    hasBody: body === "*",
  };
}

/** Where each field of the method's request travels, in the order of the proto file. */
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

/** The member's name in JSON and the parameter's in a query: the proto name, in snake_case. */
export function jsonName(field: DescField): string {
  return field.name;
}

/** Whether the members of this message stand in the place of the field: the response shows the bare object. */
export function isInline(field: DescField): boolean {
  return getOption(field, fieldExtension).inline;
}

/** In responses: always there, `null` where unset. In requests: `null` is accepted and means unset. */
export function isNullable(field: DescField): boolean {
  return getOption(field, fieldExtension).nullable;
}

/** Whether the text is a decimal: exactly four places in responses (`19.9900`). */
export function isDecimal(field: DescField): boolean {
  return getOption(field, fieldExtension).decimal;
}

/** In responses: left out where unset. */
export function isOmitEmpty(field: DescField): boolean {
  return getOption(field, fieldExtension).omitEmpty;
}

/** In requests: a JSON number is taken as well as a string; the digits that were sent are kept. */
export function allowsNumber(field: DescField): boolean {
  return getOption(field, fieldExtension).numberOrString;
}

/** In requests: the field in whose place this one may be given, `""` where it has no such. */
export function insteadOf(field: DescField): string {
  return getOption(field, fieldExtension).insteadOf;
}

/** The one value that the member has in responses (`customer` for `object`), `null` where it may vary. */
export function constant(field: DescField): string | null {
  const { constant: value } = getOption(field, fieldExtension);
  return value === "" ? null : value;
}

/** The field's example, `undefined` where it has none; `null` is an example too. Throws on one that is no JSON. */
export function example(field: DescField): JsonValue | undefined {
  const { example: text } = getOption(field, fieldExtension);
  return text === "" ? undefined : (JSON.parse(text) as JsonValue);
}

/** Whether a query parameter holds several values, separated by commas (`status=draft,paid`). */
export function isCommaSeparated(field: DescField): boolean {
  return field.fieldKind === "list";
}

/** The word of an enum value in JSON: `PLAN_TYPE_PER_UNIT` is `per_unit`. */
export function enumJsonName(value: DescEnumValue): string {
  return value.name.slice(value.parent.sharedPrefix?.length ?? 0).toLowerCase();
}

/** The words that an enum has in JSON, in the order of the proto file. The zero value stands for unset and has none. */
export function enumJsonNames(descriptor: DescEnum): string[] {
  return descriptor.values.filter(({ number }) => number !== 0).map(enumJsonName);
}

/** The number of the value with this word, `null` where there is none. Only the exact word counts. */
export function enumFromJson(descriptor: DescEnum, word: string): number | null {
  return descriptor.values.find((value) => value.number !== 0 && enumJsonName(value) === word)?.number ?? null;
}

/** How a decimal looks in responses: four places, a minus where it is below zero. Spec: Conventions. */
export const responseDecimalPattern = "^-?(0|[1-9][0-9]*)\\.[0-9]{4}$";
