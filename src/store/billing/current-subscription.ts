/**
 * Runs work on one subscription in one transaction, after billing everything that is due for it
 * (STATE-2). The locks are taken here, in the one order: organisation, then subscription
 * (INVARIANT-5).
 */
import { decideDueBefore } from "../../domain/billing/renewal.ts";
import { laterOfClock } from "../../domain/calendar/test-clock.ts";
import type { BillingState } from "../../domain/model/billing-state.ts";
import { Refusal } from "../../domain/refusal.ts";
import { isId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { loadStates } from "./billing-state.ts";
import { saveDue, shareOrganisation } from "./locked-subscription.ts";
import { leavesDocuments } from "./save-billing.ts";

/** Which subscription is worked on, and when. */
interface CurrentSubscription {
  readonly id: string;
  /**
   * The organisation's now when the request came. If its test clock is later by now, the clock's
   * instant counts.
   */
  readonly now: Date;
  /** Called after each commit of due documents. They stay and must be posted, whatever follows. */
  readonly onIssued: () => void;
  /** The work may end the subscription at once, so all its usage is loaded and locked. */
  readonly closing: boolean;
}

/** An open transaction of one organisation. The rows to work on are locked. */
export interface OpenTransaction {
  readonly client: Transaction;
  readonly organisationId: string;
  /**
   * The organisation's now: the instant by which the state was loaded and the work decides. What it
   * saves is dated by it (CLOCK-1).
   */
  readonly now: Date;
  /** The database's time at the start of the transaction. An Idempotency-Key lives by it. */
  readonly databaseNow: Date;
}

/**
 * Locks the subscription and bills what is due, in separate transactions until nothing is due. Then
 * it runs `work` on the subscription's state in one more transaction. A refusal of `work` rolls
 * back only what `work` wrote. Nothing is due while an end runs. Refuses `subscription_not_found`.
 */
export async function onCurrentSubscription<T>(
  pool: Pool,
  organisationId: string,
  { id, now, onIssued, closing }: CurrentSubscription,
  work: (tx: OpenTransaction, state: BillingState) => Promise<T>,
): Promise<T> {
  if (!isId(id)) throw notFound();
  for (;;) {
    const step = await inTransaction(pool, async (client) => {
      const { organisation, testClock, databaseNow } = await shareOrganisation(
        client,
        organisationId,
      );
      await lockSubscriptions(client, organisationId, [id]);
      const at = laterOfClock(now, testClock);
      const usage = closing ? "of_running" : "due";
      const [state] = await loadStates(client, organisation, { ids: [id], now: at, usage });
      if (state === undefined) throw notFound();
      const due = decideDueBefore(state);
      if (due === null) {
        const tx = { client, organisationId, now: at, databaseNow };
        return { kind: "current", result: await work(tx, state) } as const;
      }
      await saveDue(client, organisationId, [due], at);
      return { kind: "billed", isIssued: leavesDocuments(due) } as const;
    });
    if (step.kind === "current") return step.result;
    if (step.isIssued) onIssued();
  }
}

/** Returns the refusal of an id that the organisation does not have (REQUEST-12). */
export function notFound(): Refusal {
  return new Refusal("subscription_not_found", "There is no subscription with this id.");
}
