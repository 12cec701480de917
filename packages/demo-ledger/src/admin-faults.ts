/** The admin route of the demo ledger that adds, lists and removes faults. */
import { type ExactObject, filledTextOf, objectOf } from "../../../src/ledger/port/exact-json.ts";
import { type DemoAnswer, jsonAnswer } from "./api/answers.ts";
import { type Fault, type FaultBook, faultKinds } from "./faults.ts";

/** Answers `/demo/faults`. Refuses 403 if faults are switched off, and 400 for an unknown kind. */
export function answerFaults(
  faults: FaultBook | null,
  method: string,
  body: ExactObject,
): DemoAnswer {
  if (!faults) return refusal(403, "Faults are switched off: start the demo ledger with faults.");
  if (method === "DELETE") faults.clear();
  if (method === "POST") {
    const fault = readFault(body);
    if (!fault) return refusal(400, "match and a known kind are required.");
    faults.add(fault);
  }
  return jsonAnswer(200, { left: faults.left() });
}

function readFault(body: ExactObject): Fault | null {
  const kind = faultKinds.find((known) => known === body.kind);
  const match = filledTextOf(body.match);
  if (!kind || match === undefined) return null;
  const messages = Array.isArray(body.messages)
    ? body.messages.map(String)
    : ["Refused by order of a test."];
  const headers = Object.entries(objectOf(body.headers) ?? {}).map(([name, value]) => [
    name,
    String(value),
  ]);
  return {
    tenantId: filledTextOf(body.tenantId) ?? null,
    match,
    kind,
    times: numberOf(body.times, 1),
    element: filledTextOf(body.element) ?? null,
    status: numberOf(body.status, 503),
    body: filledTextOf(body.body) ?? null,
    headers: Object.fromEntries(headers),
    messages,
    delayMs: numberOf(body.delayMs, 1_000),
    problem: filledTextOf(body.problem) ?? "minute",
    retryAfterSeconds: numberOf(body.retryAfterSeconds, 1),
  };
}

/** Returns a member that is a whole number of up to nine digits, else `otherwise`. */
export function numberOf(value: ExactObject[string], otherwise: number): number {
  const text = filledTextOf(value);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
}

/** Returns the error of an admin route. */
export function refusal(status: number, message: string): DemoAnswer {
  return jsonAnswer(status, { error: message });
}
