/**
 * The test clock of a sandbox for operators: its time, its target, and the request to advance it.
 * CLOCK-1. SQL for its read, because the real time is the database's.
 */
import { type ClockRequest, decideAdvance } from "../../domain/calendar/test-clock.ts";
import { columns } from "../../gen/columns.ts";
import { isId } from "../database/ids.ts";
import { lockOrganisation } from "../database/lock-order.ts";
import { inSnapshot, type Pool, type Transaction } from "../database/pool.ts";
import { db, type Executor } from "../database/prisma/client.ts";
import { instant, int, pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { type Actor, type Changed, type Changes, changed } from "./changes.ts";
import { type PreviewedDue, previewDue } from "./preview-clock.ts";
import { checkOf, type StateCheck, stateOf } from "./previewed-state.ts";

/** A clock. `now` is its current time. */
export interface TestClock {
  readonly organisationId: string;
  readonly livemode: boolean;
  readonly state: "real_time" | "standing" | "advancing";
  readonly now: Date;
  readonly advance: TestClockAdvance | null;
}

/** The advance under way, or the last one. Its start and end are real instants. */
interface TestClockAdvance {
  readonly from: Date;
  readonly to: Date;
  readonly performed: number;
  readonly invoicesIssued: number;
  readonly parked: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** What an advance would perform. */
export interface PreviewedAdvance extends PreviewedDue {
  readonly from: Date;
  readonly to: Date;
  readonly previewedState: string;
}

interface LoadedClock extends TestClock {
  readonly timezone: string;
  readonly realTime: Date;
}

const organisationRow = pick(columns.organisation, "id", "livemode", "timezone", "testClock");

/** Without an advance its instants are null. */
const clockRow = {
  ...organisationRow,
  startedFrom: instant.orNull(),
  target: instant.orNull(),
  performed: int,
  issued: int,
  parked: int,
  startedAt: instant.orNull(),
  finishedAt: instant.orNull(),
  realTime: instant,
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
  const decision = decideAdvance({ ...before, target: targetOf(before) }, request);
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

async function preview(
  client: Transaction,
  organisationId: string,
  request: ClockRequest,
): Promise<PreviewedAdvance | null> {
  const clock = await load(client, organisationId);
  if (clock === null) return null;
  const target = targetOf(clock);
  const decision = decideAdvance({ ...clock, target }, request);
  const from = clock.now;
  const to = decision.kind === "advances" ? decision.target : (target ?? from);
  const due = await previewDue(client, organisationId, to);
  return { ...due, from, to, previewedState: clockState(clock) };
}

function targetOf({ state, advance }: TestClock): Date | null {
  return state === "advancing" ? (advance?.to ?? null) : null;
}

/** The previewed state of a clock. The real time goes on by itself, which is no change. */
function clockState(clock: TestClock): string {
  return stateOf([clock.state, clock.state === "real_time" ? null : clock.now, targetOf(clock)]);
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
      ${columnsOf(sql`o`, organisationRow)}, a.started_from, a.target,
      coalesce(a.performed, 0) AS performed,
      coalesce(a.issued, 0) AS issued,
      coalesce(a.parked, 0) AS parked,
      a.started_at, a.finished_at,
      date_trunc('milliseconds', clock_timestamp()) AS real_time
    FROM
      organisations o
      LEFT JOIN clock_advances a ON a.organisation_id = o.id
    WHERE o.id = $1
  `,
  row: clockRow,
});

async function load(executor: Executor, organisationId: string): Promise<LoadedClock | null> {
  const [row] = await loadClock(executor, organisationId);
  if (row === undefined) return null;
  const advance = readAdvance(row);
  const isAdvancing = advance !== null && advance.finishedAt === null;
  return {
    organisationId: row.id,
    livemode: row.livemode,
    timezone: row.timezone,
    state: isAdvancing ? "advancing" : row.testClock === null ? "real_time" : "standing",
    now: row.testClock ?? row.realTime,
    realTime: row.realTime,
    advance,
  };
}

function readAdvance(row: RowOf<typeof clockRow>): TestClockAdvance | null {
  const { startedFrom: from, target: to, startedAt, finishedAt } = row;
  if (from === null || to === null || startedAt === null) return null;
  const { performed, issued: invoicesIssued, parked } = row;
  return { from, to, performed, invoicesIssued, parked, startedAt, finishedAt };
}
