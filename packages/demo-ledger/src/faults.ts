/**
 * Faults that tests and the demo page add: lost requests, lost answers, errors, refusals, silence.
 * They are kept in memory, and work only if they are switched on.
 */
import type { DemoAnswer } from "./api/answers.ts";
import { limitAnswer } from "./api/answers.ts";

/**
 * The kind of fault.
 * - `drop_before`, `drop_after`: cuts the connection before anything is done, or once it is done
 *   and saved.
 * - `hang`: never answers.
 * - `slow_before`, `slow_after`: waits before the work, or before the answer.
 * - `status`: answers that status and does nothing.
 * - `refuse`: refuses elements with `messages`.
 * - `rate_limit`: answers 429.
 */
type FaultKind =
  | "drop_before"
  | "drop_after"
  | "status"
  | "refuse"
  | "hang"
  | "slow_before"
  | "slow_after"
  | "rate_limit";

/**
 * A fault for the next `times` requests whose `METHOD path?query` contains `match`. With `element`,
 * the body must also name that number, code or id. Without `tenantId` it applies to all, also to
 * the identity service.
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

/** The kinds as values, for parsing requests. */
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

/** A pending fault, with the number of times left. */
interface WaitingFault {
  readonly fault: Fault;
  readonly left: number;
}

/** The pending faults. */
export interface FaultBook {
  add(fault: Fault): void;
  /** Removes all faults, and ends the waits of current ones. */
  clear(): void;
  /** Returns a signal that the next `clear` aborts. */
  cleared(): AbortSignal;
  /** Returns how many faults are pending. */
  left(): number;
  /** Returns the pending faults, in the order in which they were added. */
  waiting(): readonly WaitingFault[];
  /** Returns the first fault that fits this request, and uses it up by one. */
  take(tenantId: string | null, line: string, body: string): Fault | null;
}

/** Creates an empty list of faults. */
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

/** Returns the answer of a fault that replaces the work. A 5xx is HTML, as gateways send it. */
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
    fault.element === null ||
    body.includes(JSON.stringify(fault.element)) ||
    line.includes(fault.element);
  return isTenant && line.includes(fault.match) && isElement;
}
