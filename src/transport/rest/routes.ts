/**
 * Maps a verb and a path to an operation, by the paths in the proto files. Paths are exact: nothing
 * is decoded, folded or trimmed before the comparison (REQUEST-2).
 */
import assert from "node:assert/strict";
import type { Message } from "@bufbuild/protobuf";
import type { Operation } from "../rpc/operation.ts";
import { httpRoute, requestFields } from "./json-shape.ts";
import { compileReader } from "./read-json.ts";
import { compileQueryReader } from "./read-query.ts";
import { compileWriter } from "./write-json.ts";

/** An operation with its compiled wire form from the descriptors. */
interface Route {
  readonly operation: Operation;
  /** Reads the body. Null if the operation takes none and its parameters are in the query. */
  readonly readBody: ((body: Uint8Array) => Message) | null;
  /** Reads the query. An operation with a body has no query parameter. */
  readonly readQuery: (query: string) => Message;
  readonly write: (response: object) => string;
  /** The request's fields that the path carries, in the order of the path. */
  readonly pathFields: readonly string[];
}

/** A route with the values of its path's parameters, in their order. */
export interface RouteMatch {
  readonly route: Route;
  readonly parameters: readonly string[];
}

/** Returns the route of a verb and a path (without its query), or null if there is none. */
export type FindRoute = (verb: string, path: string) => RouteMatch | null;

interface Segment {
  readonly words: Map<string, Segment>;
  parameter: Segment | null;
  readonly byVerb: Map<string, Route>;
}

/**
 * Compiles the routes of the operations. Planned operations and those without a path (health,
 * reflection) have none. Throws if two operations have one path, or if the codec does not support a
 * field's kind.
 */
export function compileRoutes(operations: readonly Operation[]): FindRoute {
  const root = newSegment();
  for (const operation of operations) {
    const http = httpRoute(operation.method);
    if (http === null) continue;
    const leaf = http.path.split("/").reduce(childFor, root);
    assert(!leaf.byVerb.has(http.verb), `${http.verb} ${http.path} is the path of two operations`);
    leaf.byVerb.set(http.verb, compileRoute(operation));
  }
  return (verb, path) => find(root, verb, path.split("/"), 0);
}

function newSegment(): Segment {
  return { words: new Map(), parameter: null, byVerb: new Map() };
}

function childFor(parent: Segment, word: string): Segment {
  if (word.startsWith("{")) {
    parent.parameter ??= newSegment();
    return parent.parameter;
  }
  const child = parent.words.get(word) ?? newSegment();
  parent.words.set(word, child);
  return child;
}

function compileRoute(operation: Operation): Route {
  const { method } = operation;
  const http = httpRoute(method);
  assert(http !== null);
  const fields = requestFields(method, http);
  const localNames = new Map(fields.path.map((field) => [field.name, field.localName]));
  return {
    operation,
    readBody: http.hasBody ? compileReader(method.input, http.pathParameters) : null,
    readQuery: compileQueryReader(method.input, fields.query),
    write: compileWriter(method.output),
    pathFields: http.pathParameters.map((name) => {
      const localName = localNames.get(name);
      assert(localName !== undefined, `${operation.name}: its request has no field ${name}`);
      return localName;
    }),
  };
}

/**
 * A word comes before a parameter. If nothing of the verb stands below the word, it is the
 * parameter's value: `GET /v1/subscriptions/preview` asks for the subscription `preview`.
 */
function find(
  segment: Segment,
  verb: string,
  words: readonly string[],
  index: number,
): RouteMatch | null {
  const word = words[index];
  if (word === undefined) {
    const route = segment.byVerb.get(verb);
    return route === undefined ? null : { route, parameters: [] };
  }
  const child = segment.words.get(word);
  const match = child === undefined ? null : find(child, verb, words, index + 1);
  if (match !== null || segment.parameter === null || word === "") return match;
  const below = find(segment.parameter, verb, words, index + 1);
  return below && { route: below.route, parameters: [decode(word), ...below.parameters] };
}

/**
 * An id that cannot be decoded, or has a NUL, stays as it was sent. It is no UUID, so no object has
 * it (REQUEST-12).
 */
function decode(word: string): string {
  if (!word.includes("%")) return word;
  try {
    const decoded = decodeURIComponent(word);
    return decoded.includes("\0") ? word : decoded;
  } catch {
    return word;
  }
}
