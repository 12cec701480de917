/** A fixture of call budgets whose past can be set or moved. The database records every call. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { test } from "vitest";
import { xeroTraits } from "../../../src/ledger/xero/wire/connection.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import {
  type CallLimits,
  createCallBudget,
  type LedgerBudget,
} from "../../../src/store/ledger-connection/call-budget.ts";
import { freshDatabase } from "../../support/database.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { addOrganisation } from "../../support/organisation-builder.ts";
import { testPool } from "../../support/pool.ts";
import { until } from "../../support/until.ts";

/** How long the call of a lost process counts as running, unless a test says otherwise. */
const leaseMs = 30_000;

/** A database with budgets. */
export interface BudgetFixture {
  readonly pool: pg.Pool;
  /** Adds an organisation and returns its id. */
  organisation(): Promise<string>;
  budget(organisationId: string, ownLeaseMs?: number, limits?: CallLimits): LedgerBudget;
  /** Adds calls that ended so many seconds ago. */
  fill(organisationId: string, secondsAgo: readonly number[]): Promise<void>;
  /** Lets so many seconds pass for the budget. Fewer than zero set its clock back. */
  pass(organisationId: string, seconds: number): Promise<void>;
  /** Starts a process of `budget-caller.ts` on the organisation's budget. */
  startCaller(
    organisationId: string,
    settings?: Readonly<Record<string, string>>,
  ): Promise<ChildProcess>;
  /** Returns the calls in seconds of passed time, and how many ran at once with each. */
  calls(organisationId: string): Promise<readonly RecordedCall[]>;
  stop(): Promise<void>;
}

/** A recorded call. `ended` is null if it was not returned. */
interface RecordedCall {
  readonly granted: number;
  readonly ended: number | null;
  readonly atOnce: number;
}

// Both run under the lock of the budget's row, so they record calls in order.
const accountText = `
CREATE TABLE passed (organisation_id uuid PRIMARY KEY, time interval NOT NULL);
CREATE TABLE recorded_calls (organisation_id uuid, call_id uuid, granted timestamptz,
  ended timestamptz, at_once int);
CREATE FUNCTION record_calls() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp() + coalesce((SELECT time FROM passed p
    WHERE p.organisation_id = NEW.organisation_id), '0');
BEGIN
  INSERT INTO recorded_calls SELECT NEW.organisation_id, f, at, NULL, cardinality(NEW.flights)
    FROM unnest(NEW.flights) f WHERE f <> ALL (OLD.flights);
  UPDATE recorded_calls r SET ended = at WHERE r.organisation_id = NEW.organisation_id
    AND r.ended IS NULL AND r.call_id <> ALL (NEW.flights);
  RETURN NULL;
END $$;
CREATE TRIGGER record_calls AFTER UPDATE ON ledger_budgets FOR EACH ROW
  EXECUTE FUNCTION record_calls();`;

const shiftText = `
UPDATE ledger_budgets b
  SET granted_at = granted_at - t.time, written_at = written_at - t.time,
  others_until = others_until - t.time,
  day_observed_at = day_observed_at - t.time, calls = (SELECT coalesce(array_agg(c - t.time), '{}')
    FROM unnest(b.calls) c),
  flights_until = (SELECT coalesce(array_agg(f - t.time), '{}') FROM unnest(b.flights_until) f)
FROM (SELECT $2 * interval '1 second' AS time) t WHERE b.organisation_id = $1`;

/** Creates a separate database. */
export async function budgetFixture(): Promise<BudgetFixture> {
  const database = await freshDatabase();
  const pool = testPool(database.url, 10);
  await pool.query(accountText);
  return {
    pool,
    organisation: async () => {
      const id = await addOrganisation(pool);
      await pool.query("INSERT INTO passed VALUES ($1, '0')", [id]);
      return id;
    },
    budget: (organisationId, ownLeaseMs = leaseMs, limits = xeroTraits.calls) =>
      createCallBudget(pool, organisationId, ownLeaseMs, limits),
    fill: async (organisationId, secondsAgo) => {
      const text = `INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until,
        granted_at, written_at)
        SELECT $1, array_agg(now() - s * interval '1 second'
          ORDER BY s DESC), '{}', '{}', now() - min(s) * interval '1 second', now()
        FROM unnest($2::float8[]) s
        ON CONFLICT (organisation_id) DO UPDATE
        SET calls = excluded.calls, granted_at = excluded.granted_at`;
      await pool.query(text, [organisationId, secondsAgo]);
    },
    pass: async (organisationId, seconds) => {
      await inTransaction(pool, async (client) => {
        await client.query(shiftText, [organisationId, seconds]);
        // The ledger's clock is independent of ours and only goes on.
        const text =
          "UPDATE passed SET time = time + $2 * interval '1 second' WHERE organisation_id = $1";
        await client.query(text, [organisationId, Math.max(0, seconds)]);
      });
    },
    startCaller: async (organisationId, settings = {}) => {
      const env = {
        ...process.env,
        DATABASE_URL: database.url,
        ORGANISATION: organisationId,
        ...settings,
      };
      const child = fork(fileURLToPath(new URL("budget-caller.ts", import.meta.url)), { env });
      await once(child, "message");
      return child;
    },
    calls: async (organisationId) => {
      const { rows } = await pool.query<{ granted: number; ended: number | null; at_once: number }>(
        `SELECT extract(epoch FROM granted)::float8 AS granted, extract(epoch
          FROM ended)::float8 AS ended, at_once
          FROM recorded_calls WHERE organisation_id = $1 ORDER BY granted`,
        [organisationId],
      );
      return rows.map(({ at_once: atOnce, ...call }) => ({ ...call, atOnce }));
    },
    stop: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

/** Kills a process at once, as a crash does. */
export async function kill(child: ChildProcess, pool: pg.Pool): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  await until("the database has ended its connections", async () => {
    const text = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'caller'`;
    return (await pool.query(text)).rows.length === 0;
  });
}

/**
 * Returns the most calls that a ledger can receive within so many seconds, whenever they begin and
 * whenever each call arrived while it was running.
 */
export function maxWithin(calls: readonly RecordedCall[], seconds: number): number {
  const counts = calls.map(({ ended: begin }) => {
    if (begin === null) return 0;
    return calls.filter(
      ({ granted, ended }) => (ended ?? Infinity) >= begin && granted < begin + seconds,
    ).length;
  });
  return Math.max(0, ...counts);
}

/** Tests of call budgets in a new database. */
export const budgetTest = test.extend(
  "budgets",
  perFile,
  started(budgetFixture, (budgets) => budgets.stop()),
);
