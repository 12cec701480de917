/**
 * Sends requests over REST and checks every answer against the published document and against what
 * all answers have in common: Request-Id, the error envelope, the rate headers, Retry-After.
 * REQUEST-4, REQUEST-15.
 */
import { expect } from "vitest";
import { answerFaults, document } from "../contract/answer-check.ts";
import { type Answered, type RequestOptions, untilBegun } from "../support/answer.ts";
import type { TestSystem } from "../support/system.ts";

/** Like `TestSystem.ask`; fails if an answer is not as documented. */
export type Ask = (verb: string, path: string, options?: RequestOptions) => Promise<Answered>;

/** `GET /v1/plans/{id} 404`, for every documented operation that was called. */
export type Seen = Set<string>;

/** The expected refusal as a test compares it: `param` is null if the answer names none. */
export interface Refused {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly param: string | null;
}

/** An `ask` of this system that adds what it met to `seen`. */
export function checkedAsk(system: TestSystem, seen: Seen = new Set()): Ask {
  return (verb, path, options) =>
    untilBegun(async () => {
      const answer = await system.ask(verb, path, options);
      assertAnswer(verb, path, answer, seen);
      return answer;
    });
}

/** The refusal of an answer, for comparison with `refused`; fails if it refuses nothing. */
export function refusalOf({ status, json, text }: Answered): Refused {
  expect(json?.error, text).toBeTypeOf("object");
  const { type, code, param } = json.error;
  return { status, type, code, param: param ?? null };
}

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found",
  409: "conflict",
  413: "invalid_request_error",
  422: "invalid_request_error",
  429: "rate_limit_error",
  500: "api_error",
  502: "api_error",
};

/** The refusal of a status and code; its type follows from the status. REQUEST-15. */
export function refused(status: number, code: string, param: string | null = null): Refused {
  return { status, type: types[status] ?? "", code, param };
}

// A path without a parameter comes first: `/v1/subscriptions/preview` before
// `/v1/subscriptions/{id}`.
const templates = Object.keys(document.paths as object)
  .sort(byParameters)
  .map((template) => ({
    template,
    expression: new RegExp(`^(?:/api)?${template.replace(/\{[a-z_]+\}/g, "[^/]+")}$`),
  }));

function byParameters(left: string, right: string): number {
  return left.split("{").length - right.split("{").length;
}

/** Asserts that an answer is as documented, and adds it to `seen`. */
export function assertAnswer(verb: string, path: string, answer: Answered, seen: Seen): void {
  const { status, headers, json, text } = answer;
  const what = `${verb} ${path}: ${status} ${text}`;
  const requestId = headers.get("Request-Id");
  expect(requestId, what).toMatch(/^[0-9a-f-]{36}$/);
  if (status >= 400) {
    expect(Object.keys(json ?? {}), what).toEqual(["error"]);
    expect(json.error.request_id, what).toBe(requestId);
    expect(json.error.type, what).toBe(types[status]);
  }
  if (status === 429) expect(headers.get("Retry-After"), what).toMatch(/^[1-9]\d*$/);
  const isUncounted =
    status === 401 || json?.error?.code === "unknown_endpoint" || /openapi\.json$/.test(path);
  for (const name of ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]) {
    // Without the database nothing can be counted either.
    if (json?.error?.code === "temporarily_unavailable") break;
    if (isUncounted) expect(headers.get(name), what).toBeNull();
    else expect(headers.get(name), what).toMatch(/^\d+$/);
  }
  const bare = path.replace(/[?#].*$/s, "");
  const paths = document.paths as Record<string, object>;
  const template = templates.find(
    ({ template: name, expression }) =>
      expression.test(bare) && Object.hasOwn(paths[name] ?? {}, verb.toLowerCase()),
  )?.template;
  if (template === undefined) return;
  seen.add(`${verb} ${template} ${status}`);
  const recorded = { status, headers: Object.fromEntries(headers), body: json };
  expect(answerFaults(verb, template, recorded), what).toEqual([]);
}
