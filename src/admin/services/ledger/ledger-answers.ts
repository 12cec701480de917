/**
 * Calls an organisation's ledger on an operator's behalf and turns the ledger's failures into
 * refusals. LEDGER-1
 */
import { Refusal } from "../../../domain/refusal.ts";
import type {
  Ledger,
  LedgerAnswer,
  LedgerCall,
  LedgerFailure,
} from "../../../ledger/port/ledger.ts";
import type { Unsaved } from "../../../store/admin/ledger/connections.ts";
import type { AdminDependencies } from "../dependencies.ts";

/**
 * Calls the organisation's ledger and returns the value. Refuses `ledger_not_connected`, and the
 * ledger's failures as `refusalOf` maps them.
 */
export async function askLedger<T>(
  parts: AdminDependencies,
  organisationId: string,
  ask: (ledger: Ledger, call: LedgerCall) => Promise<LedgerAnswer<T>>,
): Promise<T> {
  const answer = await tryLedger(parts, organisationId, ask);
  if (answer.kind !== "ok") throw refusalOf(answer);
  return answer.value;
}

/**
 * Calls the organisation's ledger and returns its answer, also a failure. Refuses
 * `ledger_not_connected`.
 */
export async function tryLedger<T>(
  parts: AdminDependencies,
  organisationId: string,
  ask: (ledger: Ledger, call: LedgerCall) => Promise<LedgerAnswer<T>>,
): Promise<LedgerAnswer<T>> {
  const state = await parts.store.connections.open(organisationId);
  if (state === null) throw notConnected();
  if (state.isDisconnected)
    return { kind: "unauthorised", why: "disconnected", message: state.pausedReason ?? "" };
  return ask(parts.openLedger(organisationId, state.connection), readCall(parts));
}

/** The options of a read. It belongs to no ledger job. */
export function readCall({ callDeadlineMs }: AdminDependencies): LedgerCall {
  return { deadlineMs: callDeadlineMs, jobKeys: [] };
}

/** The refusal if an operation needs a ledger and none is connected. */
export function notConnected(): Refusal {
  return new Refusal("ledger_not_connected", "The organisation is not connected to a ledger.");
}

/** A failure in words, for people. */
export function describeFailure(failure: LedgerFailure): string {
  switch (failure.kind) {
    case "refused":
      return failure.messages.join(" ") || "The ledger refused.";
    case "unauthorised":
      return `The ledger does not let us in (${failure.why}): ${failure.message}`;
    case "rate_limited":
      return failure.isOurs
        ? `All calls to the ledger are used up that its limits leave us for now (${failure.scope}).`
        : `The ledger's limit of calls is reached (${failure.scope}).`;
    case "high_volume":
      return `The ledger has too many records to answer this: ${failure.message}`;
    case "unavailable":
      return `The ledger could not be reached: ${failure.cause}`;
  }
}

/** `ledger_refused` if the ledger decided, `ledger_unavailable` if it could not be reached. */
export function refusalOf(failure: LedgerFailure): Refusal {
  const message = describeFailure(failure);
  const isDecided =
    failure.kind === "refused" || failure.kind === "unauthorised" || failure.kind === "high_volume";
  if (isDecided) return new Refusal("ledger_refused", message);
  const seconds = failure.kind === "rate_limited" ? Math.ceil(failure.retryAfterMs / 1000) : null;
  return new Refusal("ledger_unavailable", message, null, seconds);
}

/** The message if a connection is not saved. ADMIN-7 */
export function whyUnsaved(unsaved: Unsaved): string {
  if (unsaved.unsaved === "other_tenant")
    return "There are customers: the connection must lead to the tenant they are of.";
  const names = unsaved.by.join(", ");
  return `Another organisation is connected to this tenant: ${names}. Disconnect that first.`;
}
