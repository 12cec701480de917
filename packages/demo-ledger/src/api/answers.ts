/** The demo ledger's HTTP answers in Xero's shapes. */
import { randomUUID } from "node:crypto";
import { writeExactJson } from "../../../../src/ledger/port/exact-json.ts";

/** A finished answer. `body` is final text, so that it can be stored and repeated byte for byte. */
export interface DemoAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const jsonHeaders = { "content-type": "application/json; charset=utf-8" } as const;

/** The id that Xero returns for an element that it did not create. */
export const emptyId = "00000000-0000-0000-0000-000000000000";

/** Returns any value as a JSON answer. */
export function jsonAnswer(status: number, value: unknown): DemoAnswer {
  return { status, headers: jsonHeaders, body: writeExactJson(value) };
}

/** Returns a list in Xero's envelope. */
export function listAnswer(
  member: string,
  elements: readonly object[],
  extra: object = {},
): DemoAnswer {
  return jsonAnswer(200, {
    Id: randomUUID(),
    Status: "OK",
    ProviderName: "Demo Ledger",
    DateTimeUTC: `/Date(${Date.now()})/`,
    ...extra,
    [member]: elements,
  });
}

/** Returns 400 with the refused elements, each with its messages. */
export function validationAnswer(elements: readonly object[]): DemoAnswer {
  return jsonAnswer(400, {
    ErrorNumber: 10,
    Type: "ValidationException",
    Message: "A validation exception occurred",
    Elements: elements,
  });
}

/** Returns 400 without `Elements`, for a request that cannot be read as a whole. */
export function badRequestAnswer(errorNumber: number, type: string, message: string): DemoAnswer {
  return jsonAnswer(400, { ErrorNumber: errorNumber, Type: type, Message: message });
}

/** Returns 400 for a list that Xero refuses in an organisation with too many records (XERO-5). */
export function highVolumeAnswer(member: string): DemoAnswer {
  const message =
    `Due to the high number of ${member} this query cannot be answered: ` +
    "use an optimised filter.";
  return badRequestAnswer(51, "HighVolumeException", message);
}

/**
 * Returns 401 as Xero's gateway does. The detail distinguishes a missing scope from an invalid
 * token.
 */
export function unauthorisedAnswer(detail: string): DemoAnswer {
  return problemAnswer(401, "Unauthorized", detail);
}

/** Returns 403: the token is valid, but not for this organisation. */
export function forbiddenAnswer(): DemoAnswer {
  return problemAnswer(403, "Forbidden", "AuthenticationUnsuccessful");
}

/** Returns 404 in plain text, as Xero does for an unknown id or path. */
export function notFoundAnswer(): DemoAnswer {
  return {
    status: 404,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: "The resource you're looking for cannot be found",
  };
}

/** Returns 429 with the limit that was reached and the seconds to wait (XERO-7). */
export function limitAnswer(problem: string, retryAfterSeconds: number): DemoAnswer {
  const headers = { "x-rate-limit-problem": problem, "retry-after": String(retryAfterSeconds) };
  return { status: 429, headers, body: "" };
}

/** Returns an instant as `/Date(ms+0000)/`. */
export function xeroInstant(at: Date): string {
  return `/Date(${at.getTime()}+0000)/`;
}

/** Returns a civil date as `/Date(ms+0000)/`, at midnight in UTC. */
export function xeroDate(date: string): string {
  return `/Date(${Date.parse(`${date}T00:00:00Z`)}+0000)/`;
}

/** Returns these texts as the elements of `ValidationErrors`. */
export function validationErrors(messages: readonly string[]): readonly object[] {
  return messages.map((message) => ({ Message: message }));
}

function problemAnswer(status: number, title: string, detail: string): DemoAnswer {
  return jsonAnswer(status, {
    Type: null,
    Title: title,
    Status: status,
    Detail: detail,
    Instance: randomUUID(),
  });
}
