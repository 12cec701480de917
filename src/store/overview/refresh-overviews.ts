/**
 * Reckons the figures of organisations anew: each minute while somebody reads them, else each hour,
 * and less often if they take long. No request and no writer counts anything for them. ADMIN-19
 *
 * SQL: it claims rows with SKIP LOCKED, by the database's clock.
 */
import { addDays, civilDate } from "../../domain/calendar/civil-date.ts";
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { day, instant, pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { countDeliveries, countDocuments } from "./document-figures.ts";
import type { Figures } from "./figures.ts";
import { addBilled, createRenewalSums } from "./renewal-sums.ts";
import { reckonSubscriptions } from "./subscription-figures.ts";

/** How far the figures reach before today. */
const daysBefore = 30;

/** And after it: 60 days, with what is invoiced ahead within them. */
const daysAfter = 92;

const createRows = command({
  name: "create_overviews",
  text: sql`
    INSERT INTO overviews (organisation_id)
    SELECT o.id
    FROM organisations o
    WHERE
      NOT EXISTS (
        SELECT
        FROM overviews v
        WHERE v.organisation_id = o.id
      )
    ORDER BY o.id
    ON CONFLICT DO NOTHING
  `,
});

// A run of a minute begins up to some seconds early. Figures that took a second are a minute apart.
const isDue = sql`(v.claimed_until IS NULL OR v.claimed_until < now())
  AND (v.as_of IS NULL OR v.as_of <= now() - greatest(v.took_ms * interval '60 milliseconds',
    CASE WHEN v.read_at > now() - interval '15 minutes'
      THEN interval '50 seconds' ELSE interval '1 hour' END))`;

// A worker that dies, or an organisation that cannot be reckoned, is tried again after the claim.
const claim = query({
  name: "claim_overviews",
  text: sql`
    UPDATE overviews v
    SET claimed_until = now() + interval '10 minutes'
    FROM
      (
        SELECT v.organisation_id
        FROM overviews v
        WHERE ${isDue}
        ORDER BY v.as_of NULLS FIRST
        LIMIT $1
        FOR UPDATE SKIP LOCKED
      ) due
    WHERE v.organisation_id = due.organisation_id
    RETURNING v.organisation_id
  `,
  row: pick(columns.overview, "organisationId"),
});

const readToday = query({
  name: "overview_today",
  text: sql`
    SELECT now() AS as_of, (coalesce(o.test_clock, now()) AT TIME ZONE o.timezone)::date AS today
    FROM organisations o
    WHERE o.id = $1
  `,
  row: { asOf: instant, today: day },
});

const save = command({
  name: "save_overview",
  text: sql`
    UPDATE overviews
    SET
      figures = $2,
      as_of = $3,
      took_ms = $4,
      claimed_until = NULL
    WHERE organisation_id = $1
  `,
});

/**
 * Reckons the figures of at most `atMost` organisations that are due, and returns how many were
 * due. Those that cannot be reckoned keep their figures and are reported.
 */
export async function refreshOverviews(
  pool: Pool,
  atMost: number,
  onError: (organisationId: string, error: unknown) => void,
): Promise<number> {
  await createRows(pool);
  const due = await claim(pool, atMost);
  for (const { organisationId } of due)
    await refresh(pool, organisationId).catch((error) => onError(organisationId, error));
  return due.length;
}

async function refresh(pool: Pool, organisationId: string): Promise<void> {
  const beganMs = performance.now();
  const [now] = await readToday(pool, organisationId);
  if (now === undefined) return;
  const today = civilDate(now.today);
  const [from, until] = [addDays(today, -daysBefore), addDays(today, daysAfter)];
  const sums = createRenewalSums();
  const subscriptions = await reckonSubscriptions(pool, organisationId, { from, until }, sums);
  await addBilled(pool, organisationId, { from, today }, sums);
  const figures: Figures = {
    today,
    subscriptions,
    renewals: sums.days(),
    documents: await countDocuments(pool, organisationId),
    endpoints: await countDeliveries(pool, organisationId),
  };
  const tookMs = Math.ceil(performance.now() - beganMs);
  await save(pool, organisationId, JSON.stringify(figures), now.asOf, tookMs);
}
