/** The demo ledger's HTTP answers in Xero's shapes. Facts: facts-ledger sections 1.1, 1.6 and 1.7. */
import { randomUUID } from "node:crypto";
import { writeExactJson } from "../../../ledger/port/exact-json.ts";

/** A finished answer. `body` is final text, so that it can be kept and given again byte for byte. */
export interface DemoAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const jsonHeaders = { "content-type": "application/json; charset=utf-8" } as const;

/** What Xero echoes as the id of something that it did not make. */
export const emptyId = "00000000-0000-0000-0000-000000000000";

/** Any value as a JSON answer. */
export function jsonAnswer(status: number, value: unknown): DemoAnswer {
  return { status, headers: jsonHeaders, body: writeExactJson(value) };
}

/** A list in Xero's envelope. */
export function listAnswer(member: string, elements: readonly object[], extra: object = {}): DemoAnswer {
  return jsonAnswer(200, {
    Id: randomUUID(),
    Status: "OK",
    ProviderName: "Demo Ledger",
    DateTimeUTC: `/Date(${Date.now()})/`,
    ...extra,
    [member]: elements,
  });
}

/** 400 with the elements that were refused, each with its own messages. */
export function validationAnswer(elements: readonly object[]): DemoAnswer {
  return jsonAnswer(400, {
    ErrorNumber: 10,
    Type: "ValidationException",
    Message: "A validation exception occurred",
    Elements: elements,
  });
}

/** 400 for a request that cannot be read as a whole, without `Elements`. */
export function badRequestAnswer(errorNumber: number, type: string, message: string): DemoAnswer {
  return jsonAnswer(400, { ErrorNumber: errorNumber, Type: type, Message: message });
}

/** 400 for a list that Xero does not read in an organisation with so many records. Facts: facts-ledger section 1.3. */
export function highVolumeAnswer(member: string): DemoAnswer {
  const message = `Due to the high number of ${member} this query cannot be answered: use an optimised filter.`;
  return badRequestAnswer(51, "HighVolumeException", message);
}

/** 401 as Xero's gateway gives it. `scope` tells a missing scope from a dead token. */
export function unauthorisedAnswer(detail: string): DemoAnswer {
  return problemAnswer(401, "Unauthorized", detail);
}

/** 403: the token is good, but not for this organisation. */
export function forbiddenAnswer(): DemoAnswer {
  return problemAnswer(403, "Forbidden", "AuthenticationUnsuccessful");
}

/** 404 in plain text, as Xero answers an unknown id or path. */
export function notFoundAnswer(): DemoAnswer {
  return {
    status: 404,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: "The resource you're looking for cannot be found",
  };
}

/** 429 with the limit that was hit and the seconds to wait. */
export function limitAnswer(problem: string, retryAfterSeconds: number): DemoAnswer {
  const headers = { "x-rate-limit-problem": problem, "retry-after": String(retryAfterSeconds) };
  return { status: 429, headers, body: "" };
}

/** `/Date(ms+0000)/` of an instant. */
export function xeroInstant(at: Date): string {
  return `/Date(${at.getTime()}+0000)/`;
}

/** `/Date(ms+0000)/` of a civil date, at midnight in UTC. */
export function xeroDate(date: string): string {
  return `/Date(${Date.parse(`${date}T00:00:00Z`)}+0000)/`;
}

/** The elements of `ValidationErrors` for these texts. */
export function validationErrors(messages: readonly string[]): readonly object[] {
  return messages.map((message) => ({ Message: message }));
}

function problemAnswer(status: number, title: string, detail: string): DemoAnswer {
  return jsonAnswer(status, { Type: null, Title: title, Status: status, Detail: detail, Instance: randomUUID() });
}
