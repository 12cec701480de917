/**
 * The test clock of a sandbox for operators: its time, its target, and the request to advance it.
 * CLOCK-1. SQL for its read, because the real time is the database's.
 */
import { type ClockRequest, decideAdvance } from "../../domain/calendar/test-clock.ts";
import { columns } from "../../gen/columns.ts";
import { isId } from "../database/ids.ts";
import { lockOrganisation } from "../database/lock-order.ts";
import { inSnapshot, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { instant, int, jsonRow, pick } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { type Actor, type Changed, type Changes, changed } from "./changes.ts";
import { previewDue } from "./preview-clock.ts";
import { checkOf, type StateCheck, stateOf } from "./previewed-state.ts";

/**
 * A clock. `now` is its current time, `target` where an advance under way goes, and `advance` that
 * one or the last.
 */
export type TestClock = NonNullable<Awaited<ReturnType<typeof load>>>;

const organisationRow = pick(columns.organisation, "id", "livemode", "timezone", "testClock");

/** Its start and end are real instants. */
const advanceRow = {
  from: instant,
  to: instant,
  performed: int,
  invoicesIssued: int,
  parked: int,
  startedAt: instant,
  finishedAt: instant.orNull(),
};

/** Creates the store of test clocks over changes. Null stands for no such organisation. */
export function createAdminClockStore(pool: Pool, { run }: Changes) {
  return {
    get: async (organisationId: string) =>
      isId(organisationId) ? load(pool, organisationId) : null,
    /** Returns the clock after the change that `decideAdvance` decides. Refuses as that does. */
    advance: async (
      actor: Actor,
      organisationId: string,
      request: ClockRequest,
      previewedState?: string,
    ) => {
      if (!isId(organisationId)) return null;
      const check = checkOf(previewedState ?? null);
      return run(actor, (tx) => advance(tx, organisationId, request, check));
    },
    /** What falls due on the way. Refuses as `decideAdvance` does. */
    preview: async (organisationId: string, request: ClockRequest) =>
      isId(organisationId)
        ? inSnapshot(pool, (client) => preview(client, organisationId, request))
        : null,
  };
}

async function advance(
  tx: Transaction,
  organisationId: string,
  request: ClockRequest,
  check: StateCheck,
): Promise<Changed<TestClock | null>> {
  // Locked, so that no writer decides by the previous time.
  await lockOrganisation(tx, organisationId);
  const before = await load(tx, organisationId);
  if (before === null) return changed(null);
  const decision = decideAdvance(before, request);
  if (decision.kind !== "advances") return changed(before);
  await check(() => clockState(before));
  await db(tx).organisation.update({
    where: { id: organisationId },
    data: { testClock: before.now },
  });
  const started = {
    startedFrom: before.now,
    target: decision.target,
    performed: 0,
    issued: 0,
    parked: 0,
    startedAt: before.realTime,
    movedAt: before.realTime,
    finishedAt: null,
  };
  await db(tx).clockAdvance.upsert({
    where: { organisationId },
    create: { organisationId, ...started },
    update: started,
  });
  return changed(await load(tx, organisationId), {
    targetKind: "organisation",
    targetId: organisationId,
    organisationId,
    before: { testClock: before.state === "real_time" ? null : before.now },
    after: { testClock: before.now, target: decision.target },
  });
}

async function preview(client: Transaction, organisationId: string, request: ClockRequest) {
  const clock = await load(client, organisationId);
  if (clock === null) return null;
  const decision = decideAdvance(clock, request);
  const from = clock.now;
  const to = decision.kind === "advances" ? decision.target : (clock.target ?? from);
  const due = await previewDue(client, organisationId, to);
  return { ...due, from, to, previewedState: clockState(clock) };
}

/** The previewed state of a clock. The real time goes on by itself, which is no change. */
function clockState({ state, now, target }: TestClock): string {
  return stateOf([state, state === "real_time" ? null : now, target]);
}

/**
 * Reads the clock and its advance in one statement, so that both are of one moment. SQL, because
 * the real time is the database's, as for every other process. It has milliseconds, which is what a
 * clock shows.
 */
const loadClock = query({
  name: "load_test_clock",
  text: sql`
    SELECT
      ${columnsOf(sql`o`, organisationRow)},
      date_trunc('milliseconds', clock_timestamp()) AS real_time,
      CASE
        WHEN a.organisation_id IS NOT NULL THEN json_build_object(
          'from',
          a.started_from,
          'to',
          a.target,
          'performed',
          a.performed,
          'invoices_issued',
          a.issued,
          'parked',
          a.parked,
          'started_at',
          a.started_at,
          'finished_at',
          a.finished_at
        )
      END AS advance
    FROM
      organisations o
      LEFT JOIN clock_advances a ON a.organisation_id = o.id
    WHERE o.id = $1
  `,
  row: { ...organisationRow, realTime: instant, advance: jsonRow(advanceRow).orNull() },
});

type ClockState = "real_time" | "standing" | "advancing";

async function load(executor: Executor, id: string) {
  const [row] = await loadClock(executor, id);
  if (row === undefined) return null;
  const { id: organisationId, testClock, advance, ...clock } = row;
  const target = advance?.finishedAt === null ? advance.to : null;
  const still: ClockState = testClock === null ? "real_time" : "standing";
  const state: ClockState = target === null ? still : "advancing";
  return { ...clock, organisationId, state, now: testClock ?? row.realTime, target, advance };
}
