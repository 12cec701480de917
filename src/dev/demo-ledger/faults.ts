/**
 * Faults that tests and the page of the books order: lost requests, lost answers, errors, refusals, silence. In memory, and only where they are
 * switched on.
 */
import type { DemoAnswer } from "./api/answers.ts";
import { limitAnswer } from "./api/answers.ts";

/**
 * What goes wrong. `drop_before` cuts the connection before anything is done, `drop_after` once it is done and saved;
 * `hang` never answers; `slow_before` and `slow_after` wait before doing it or before telling; `status` answers that
 * status and does nothing; `refuse` refuses elements with `messages`; `rate_limit` answers 429. Facts: facts-ledger
 * section 3.4.
 */
export type FaultKind =
  | "drop_before"
  | "drop_after"
  | "status"
  | "refuse"
  | "hang"
  | "slow_before"
  | "slow_after"
  | "rate_limit";

/**
 * A fault for the next `times` requests whose `METHOD path?query` contains `match` (and, with `element`, whose body
 * names that number, code or id). Without `tenantId` it is for all, the identity service too.
 */
export interface Fault {
  readonly tenantId: string | null;
  readonly match: string;
  readonly kind: FaultKind;
  readonly times: number;
  readonly element: string | null;
  readonly status: number;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly messages: readonly string[];
  readonly delayMs: number;
  readonly problem: string;
  readonly retryAfterSeconds: number;
}

/** The kinds as values, for reading requests. */
export const faultKinds: readonly FaultKind[] = [
  "drop_before",
  "drop_after",
  "status",
  "refuse",
  "hang",
  "slow_before",
  "slow_after",
  "rate_limit",
];

/** A fault that is still to happen so often. */
export interface WaitingFault {
  readonly fault: Fault;
  readonly left: number;
}

/** The faults that are waiting. */
export interface FaultBook {
  add(fault: Fault): void;
  /** Takes them all back, and ends the waits of those that are happening. */
  clear(): void;
  /** Aborted by the next `clear`. */
  cleared(): AbortSignal;
  /** How many are still to happen. */
  left(): number;
  /** Those that are still to happen, in the order in which they were added. */
  waiting(): readonly WaitingFault[];
  /** The first fault that fits this request, used up by one. */
  take(tenantId: string | null, line: string, body: string): Fault | null;
}

/** An empty book of faults. */
export function createFaultBook(): FaultBook {
  let waiting: { readonly fault: Fault; left: number }[] = [];
  let clearing = new AbortController();
  return {
    add: (fault) => waiting.push({ fault, left: fault.times }),
    clear: () => {
      waiting = [];
      clearing.abort();
      clearing = new AbortController();
    },
    cleared: () => clearing.signal,
    left: () => waiting.reduce((sum, { left }) => sum + left, 0),
    waiting: () => waiting.map((one) => ({ ...one })),
    take(tenantId, line, body) {
      const entry = waiting.find(({ fault }) => fits(fault, tenantId, line, body));
      if (!entry) return null;
      entry.left -= 1;
      if (entry.left <= 0) waiting = waiting.filter((one) => one !== entry);
      return entry.fault;
    },
  };
}

/** The answer of a fault that answers instead of doing. A 5xx comes as HTML, as gateways send it. */
export function answerOfFault(fault: Fault): DemoAnswer {
  if (fault.kind === "rate_limit") return limitAnswer(fault.problem, fault.retryAfterSeconds);
  const isHtml = fault.body === null && fault.status >= 500;
  const type = isHtml ? "text/html" : "application/json";
  const body = fault.body ?? (isHtml ? `<html><body><h1>${fault.status}</h1></body></html>` : "{}");
  return { status: fault.status, headers: { "content-type": type, ...fault.headers }, body };
}

function fits(fault: Fault, tenantId: string | null, line: string, body: string): boolean {
  const isTenant = fault.tenantId === null || fault.tenantId === tenantId;
  const isElement =
    fault.element === null || body.includes(JSON.stringify(fault.element)) || line.includes(fault.element);
  return isTenant && line.includes(fault.match) && isElement;
}
