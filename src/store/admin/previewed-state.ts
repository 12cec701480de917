/**
 * The state that a preview shows, and its check at the act: if another operator, the platform or
 * billing changed it in between, the act is refused under its locks. It is a hash, so that only a
 * preview can name it. SQL, because the facts of a subscription are rows of many tables. ADMIN-22.
 */
import { createHash } from "node:crypto";
import { Refusal } from "../../domain/refusal.ts";
import { isId } from "../database/ids.ts";
import { json } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";

/** Returns the state of facts. */
export function stateOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("base64url").slice(0, 22);
}

/** The check of an act, under its locks. It reads the state only if one was previewed. */
export type StateCheck = (read: () => Promise<string | null> | string | null) => Promise<void>;

/** Returns the check that refuses `invalid_state` if the state is not the previewed one. */
export function checkOf(previewed: string | null): StateCheck {
  return async (read) => {
    if (previewed === null || previewed === (await read())) return;
    throw new Refusal("invalid_state", "It was changed since the preview. Preview it again.");
  };
}

/** Refusals of what does not exist, and of a key that made another request. */
const otherReasons = /_not_found$|^idempotency_conflict$|^request_in_progress$/;

/**
 * Runs work that decides by the state. If it refuses, and the state is not the previewed one, then
 * that is the reason.
 */
export async function refusingChanged<T>(
  work: () => Promise<T>,
  check: () => Promise<void>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal && !otherReasons.test(error.code)) await check();
    throw error;
  }
}

// An invoice that is still to be sent counts as accepted by the ledger, as in a preview: posting it
// is no change. Usage that is reported meanwhile is none either.
const readSubscription = query({
  name: "read_previewed_subscription",
  planned: "each time",
  text: sql`
    SELECT
      jsonb_build_array(
        to_jsonb(s) - ARRAY['due_at', 'parked_until', 'parked_reason', 'parked_attempts'],
        ($3::timestamptz AT TIME ZONE s.timezone)::date,
        o.setup_mode, o.invoice_create_days, o.first_invoice_status, o.due_days,
        o.catalogue_version,
        (
          SELECT jsonb_agg(to_jsonb(p) ORDER BY p.index)
          FROM periods p
          WHERE p.organisation_id = $1 AND p.subscription_id = s.id AND p.index >= s.current_period
        ),
        (
          SELECT
            jsonb_agg(
              jsonb_build_array(
                i.id,
                CASE WHEN i.status = 'scheduled' THEN o.first_invoice_status ELSE i.status END,
                i.subtotal,
                i.amount_due = i.total,
                i.sent, i.ledger_drift, i.sync_error
              )
              ORDER BY i.seq
            )
          FROM invoices i
          WHERE i.organisation_id = $1 AND i.subscription_id = s.id
        ),
        (
          SELECT
            jsonb_agg(
              jsonb_build_array(n.id, n.subtotal, n.remaining_credit = n.total, n.sync_error)
              ORDER BY n.seq
            )
          FROM credit_notes n
          WHERE n.organisation_id = $1 AND n.subscription_id = s.id
        ),
        (
          SELECT jsonb_agg(d.id ORDER BY d.id)
          FROM deferred_lines d
          WHERE d.organisation_id = $1 AND d.subscription_id = s.id AND d.invoice_id IS NULL
        ),
        (
          SELECT jsonb_agg(j.id ORDER BY j.id)
          FROM ledger_jobs j
          WHERE
            j.organisation_id = $1
            AND j.subscription_id = s.id
            AND j.kind IN ('amend_invoice', 'end_subscription')
            AND j.state IN ('ready', 'sending', 'uncertain')
        ),
        (SELECT max(a.seq) FROM audit_log a WHERE a.target_id = s.id)
      ) AS facts
    FROM
      subscriptions s
      JOIN organisations o ON o.id = s.organisation_id
    WHERE s.organisation_id = $1 AND s.id = $2
  `,
  row: { facts: json<unknown>() },
});

/** Returns the state of a subscription on this day. Null if the organisation has no such one. */
export async function subscriptionState(
  executor: Executor,
  organisationId: string,
  id: string,
  now: Date,
): Promise<string | null> {
  if (!isId(id)) return null;
  const [row] = await readSubscription(executor, organisationId, id, now);
  return row === undefined ? null : stateOf(row.facts);
}

const readCreation = query({
  name: "read_previewed_creation",
  text: sql`
    SELECT
      jsonb_build_array(
        o.catalogue_version, o.timezone, o.setup_mode, o.invoice_create_days, o.due_days,
        ($3::timestamptz AT TIME ZONE o.timezone)::date,
        c.status,
        (
          SELECT max(s.seq)
          FROM subscriptions s
          WHERE s.organisation_id = $1 AND s.customer_id = c.id
        )
      ) AS facts
    FROM
      organisations o
      LEFT JOIN customers c ON c.organisation_id = o.id AND c.code = $2
    WHERE o.id = $1
  `,
  row: { facts: json<unknown>() },
});

/**
 * Returns the state that a creation for this customer depends on: the catalogue, the settings, the
 * day, and the customer's subscriptions so far.
 */
export async function creationState(
  executor: Executor,
  organisationId: string,
  customerCode: string,
  now: Date,
): Promise<string> {
  const [row] = await readCreation(executor, organisationId, customerCode, now);
  return stateOf(row?.facts);
}
