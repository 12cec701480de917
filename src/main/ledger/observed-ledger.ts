/** Observes the calls of a ledger: a sample of the metrics for each, and a span within a trace. */
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { CallBudget } from "../../ledger/port/call.ts";
import type { Ledger } from "../../ledger/port/ledger.ts";
import type { ProcessMetrics } from "../telemetry/process-metrics.ts";

type LedgerMetrics = Pick<ProcessMetrics, "ledgerCalls" | "ledgerPermits">;

/** The answers that are no failure of the ledger: it did what it was asked, or it said no. */
const answers: ReadonlySet<string> = new Set(["ok", "refused"]);

/**
 * Returns the ledger with its calls observed: all members but two are calls. `kind` is the
 * connection's kind.
 */
export function observedLedger(ledger: Ledger, kind: string, metrics: LedgerMetrics): Ledger {
  const { traits, close, ...calls } = ledger;
  const observed = Object.entries(calls).map(([name, call]) => {
    const ask = call as (...args: unknown[]) => Promise<Answer>;
    return [
      name,
      (...args: unknown[]) => observe(kind, name, metrics, () => ask(...args)),
    ] as const;
  });
  return { traits, close, ...(Object.fromEntries(observed) as typeof calls) };
}

interface Answer {
  readonly kind: string;
  readonly isOurs?: boolean;
  readonly outcome?: string;
}

async function observe(
  ledger: string,
  call: string,
  { ledgerCalls }: LedgerMetrics,
  run: () => Promise<Answer>,
): Promise<Answer> {
  const beganMs = performance.now();
  const report = (outcome: string) =>
    ledgerCalls.observe({ ledger, call, outcome }, (performance.now() - beganMs) / 1000);
  const traced = trace.getActiveSpan() === undefined ? run : () => inSpan(ledger, call, run);
  try {
    const answer = await traced();
    report(outcomeOf(answer));
    return answer;
  } catch (error) {
    report("error");
    throw error;
  }
}

function inSpan(ledger: string, call: string, run: () => Promise<Answer>): Promise<Answer> {
  const settings = { kind: SpanKind.CLIENT, attributes: { "billing.ledger": ledger } };
  return trace.getTracer("billing").startActiveSpan(`ledger ${call}`, settings, async (span) => {
    try {
      const answer = await run();
      span.setAttribute("billing.outcome", outcomeOf(answer));
      if (!answers.has(answer.kind)) span.setStatus({ code: SpanStatusCode.ERROR });
      return answer;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The label of an answer. `lost`: the call may have taken effect. `not_sent`: it did not. */
function outcomeOf({ kind, isOurs, outcome }: Answer): string {
  if (kind === "unavailable") return outcome === "unknown" ? "lost" : "not_sent";
  return kind === "rate_limited" && isOurs === true ? "no_permit" : kind;
}

/** Returns the budget with its answers counted. */
export function observedBudget(
  budget: CallBudget,
  ledger: string,
  { ledgerPermits }: LedgerMetrics,
): CallBudget {
  return {
    take: async (isBackground) => {
      const answer = await budget.take(isBackground);
      const outcome = answer.kind === "granted" ? "granted" : answer.scope;
      ledgerPermits.inc({ ledger, outcome });
      return answer;
    },
  };
}
