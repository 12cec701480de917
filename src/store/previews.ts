/**
 * Loads what the previews of operations are decided by (PREVIEW-2).
 *
 * A real operation first bills what is due in transactions, then decides. A preview decides what is
 * due in memory instead, by the same function. The alternative was to write and roll back. That
 * would hold the lock of the organisation's document numbers, on which every other document waits,
 * and the proof that nothing stays would depend on each statement. In a READ ONLY snapshot
 * PostgreSQL itself refuses every write, and no lock delays a writer.
 *
 * SQL, because deferred charges are read with those of an invoice in the order of their numbers.
 */

import { issuedAhead } from "../domain/billing/issued-invoices.ts";
import { laterOfClock } from "../domain/calendar/test-clock.ts";
import type { BillingState, DeferredLine } from "../domain/model/billing-state.ts";
import { billDue, type Preview } from "../domain/previews/preview.ts";
import { type LoadedUsage, loadStates } from "./billing/billing-state.ts";
import { deferredColumns, deferredRow, readDeferred } from "./billing/billing-state-row.ts";
import { notFound, type OpenTransaction } from "./billing/current-subscription.ts";
import { loadOrganisation } from "./billing/locked-subscription.ts";
import { isId } from "./database/ids.ts";
import { getThese } from "./database/page.ts";
import { inSnapshot, type Pool } from "./database/pool.ts";
import { sql } from "./database/sql/sql.ts";
import { query } from "./database/sql/statement.ts";
import { invoiceListing } from "./documents/invoices.ts";
import { withFacts } from "./documents/line-facts.ts";
import { type CreationQuery, loadCreation } from "./subscriptions/create.ts";
import { loadRestorationFacts } from "./subscriptions/restorations.ts";
import { loadEndFacts } from "./subscriptions/terminations.ts";

/** Previews of one tenant's operations. Nothing is written or locked. */
export type Previews = ReturnType<typeof createPreviews>;

/** Binds the previews to a pool and an organisation. `now` is its time when the request came. */
export function createPreviews(pool: Pool, organisationId: string, now: Date) {
  return {
    /** Loads the facts of a creation. No subscription has the id of the query. */
    loadCreation: (query: CreationQuery) =>
      inSnapshot(pool, (client) => loadCreation(client, organisationId, query)),
    /**
     * Runs `work` on the subscription after everything that is due was billed in memory. Refuses
     * `subscription_not_found`, and what billing refuses (STATE-2).
     */
    onSubscription: async <T>(
      id: string,
      work: (reads: PreviewReads, before: Preview) => Promise<T>,
    ) => {
      if (!isId(id)) throw notFound();
      return inSnapshot(pool, async (client) => {
        const { organisation, testClock, databaseNow } = await loadOrganisation(
          client,
          organisationId,
        );
        const at = laterOfClock(now, testClock);
        const load = async (usage: LoadedUsage): Promise<BillingState> => {
          const query = { ids: [id], now: at, usage, isSnapshot: true };
          const [state] = await loadStates(client, organisation, query);
          if (state === undefined) throw notFound();
          return state;
        };
        const reads = readsOf({ client, organisationId, now: at, databaseNow }, load);
        // The next renewal of a subscription that runs bills all of its usage.
        return work(reads, billDue(await load("of_running")));
      });
    },
  };
}

/** The reads of a preview on one subscription. All belong to one snapshot. */
export type PreviewReads = ReturnType<typeof readsOf>;

function readsOf(tx: OpenTransaction, load: (usage: LoadedUsage) => Promise<BillingState>) {
  const { client, organisationId, now } = tx;
  return {
    now,
    endFacts: async (state: BillingState) => {
      const { invoices, next } = await loadEndFacts(tx, state);
      return { invoices, next, deferred: await loadDeferred(tx, state) };
    },
    /**
     * The state of these facts also has the usage of a subscription that is over: once it is
     * restored, its next renewal bills that usage (PREVIEW-5).
     */
    restorationFacts: async (state: BillingState) => {
      const usage = state.usage ?? (await load("all")).usage;
      return loadRestorationFacts(tx, { ...state, usage });
    },
    /**
     * The invoices with these ids, in no order, with the facts of their lines. Ids that name no
     * stored invoice are left out.
     */
    invoices: async (ids: readonly string[]) => {
      const found = await getThese(client, organisationId, invoiceListing, ids);
      return withFacts(client, organisationId, found);
    },
  };
}

const readDeferredOf = query({
  name: "load_deferred_of_preview",
  text: sql`
    SELECT ${deferredColumns}
    FROM deferred_lines d
    WHERE
      d.organisation_id = $1
      AND d.subscription_id = $2
      AND (d.invoice_id IS NULL OR d.invoice_id = $3::uuid)
    ORDER BY d.seq
  `,
  row: deferredRow,
});

/** Loads the deferred charges that wait or are on the renewal invoice that was issued ahead. */
async function loadDeferred(
  { client, organisationId }: OpenTransaction,
  state: BillingState,
): Promise<readonly DeferredLine[]> {
  const ahead = issuedAhead(state);
  const invoiceId = ahead !== null && isId(ahead.id) ? ahead.id : null;
  const rows = await readDeferredOf(client, organisationId, state.subscription.id, invoiceId);
  return rows.map(readDeferred);
}
