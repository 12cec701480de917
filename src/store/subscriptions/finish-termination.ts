/**
 * Writes the end of a subscription once every removal of its termination is decided. It is refused
 * if the usage since then costs more than can be billed (END-4, END-6). SQL, because one statement
 * ends the job by the database's clock and notifies.
 */
import type { BillingState } from "../../domain/model/billing-state.ts";
import { Refusal } from "../../domain/refusal.ts";
import {
  decideEnded,
  type EndedSubscription,
  type EndWhen,
} from "../../domain/subscriptions/end.ts";
import type { NextPeriodLines } from "../../domain/subscriptions/reversal.ts";
import { loadStates } from "../billing/billing-state.ts";
import { shareOrganisation } from "../billing/locked-subscription.ts";
import { leavesDocuments } from "../billing/save-billing.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { lockLeasedJob } from "../ledger-jobs/job-lease.ts";
import { doneMark, outcomesChannel } from "../ledger-jobs/job-notifications.ts";
import type { LeasedTermination } from "./end-lease.ts";
import { refuseLast } from "./end-rejected.ts";
import { loadNextPeriodLines } from "./reversals.ts";
import { saveEnded } from "./terminations.ts";

/**
 * Ends the subscription, or refuses its end. Null if another attempt holds the termination. Runs
 * under the subscription's lock. A concurrent change waits, and then sees the subscription
 * ended.
 */
export async function finishTermination(
  pool: Pool,
  organisationId: string,
  leased: LeasedTermination,
  when: EndWhen,
): Promise<{ readonly issued: boolean } | null> {
  return inTransaction(pool, (client) => finish(client, organisationId, leased, when));
}

const endJob = command({
  name: "finish_termination",
  text: sql`
    WITH
      op AS (
        UPDATE ledger_jobs o
        SET
          state = 'done',
          reason = NULL,
          lease_until = NULL,
          finished_at = now()
        WHERE o.organisation_id = $1 AND o.id = $2
        RETURNING o.id
      ),
      termination AS (
        UPDATE terminations e
        SET ended = true
        FROM op
        WHERE e.organisation_id = $1 AND e.id = op.id
      )
    SELECT
    FROM
      op,
      pg_notify(${literal(outcomesChannel)}, ${literal(doneMark)} || op.id)
  `,
});

async function finish(
  client: Transaction,
  organisationId: string,
  leased: LeasedTermination,
  when: EndWhen,
): Promise<{ readonly issued: boolean } | null> {
  const { terminationId, subscriptionId, attempt } = leased;
  const locked = await shareOrganisation(client, organisationId);
  const { organisation, now } = locked;
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  if ((await lockLeasedJob(client, organisationId, terminationId, attempt)) === null) return null;
  const [loaded] = await loadStates(client, organisation, {
    ids: [subscriptionId],
    now,
    usage: when === "now" ? "of_running" : "due",
  });
  if (loaded === undefined) throw new Error(`subscription ${subscriptionId} is gone`);
  const ended = endedUnlessRefused(
    loaded.state,
    when,
    await loadNextPeriodLines(client, loaded.state),
  );
  if (ended instanceof Refusal) return refuseLast(client, locked, leased, ended.message);
  await endJob(client, organisationId, terminationId);
  await saveEnded(client, loaded.state, ended, now);
  return { issued: leavesDocuments(ended) };
}

function endedUnlessRefused(
  state: BillingState,
  when: EndWhen,
  next: NextPeriodLines,
): EndedSubscription | Refusal {
  try {
    return decideEnded(state, when, next);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
