/**
 * The test clock of a sandbox for operators: its time, its target, and the request to advance it.
 * CLOCK-1.
 */
import { type ClockRequest, decideAdvance } from "../../domain/calendar/test-clock.ts";
import { isId } from "../database/ids.ts";
import type { Actor, Changed, Changes, PrismaTransaction } from "./changes.ts";

/** A clock. `now` is its current time. */
export interface TestClock {
  readonly organisationId: string;
  readonly livemode: boolean;
  readonly state: "real_time" | "standing" | "advancing";
  readonly now: Date;
  readonly advance: TestClockAdvance | null;
}

/** The advance under way, or the last one. Its start and end are real instants. */
export interface TestClockAdvance {
  readonly from: Date;
  readonly to: Date;
  readonly performed: number;
  readonly invoicesIssued: number;
  readonly parked: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** Clocks of organisations. Null stands for an organisation that does not exist. */
export interface TestClockStore {
  get(organisationId: string): Promise<TestClock | null>;
  /** Returns the clock after the change that `decideAdvance` decides. Refuses as that does. */
  advance(actor: Actor, organisationId: string, request: ClockRequest): Promise<TestClock | null>;
}

interface LoadedClock extends TestClock {
  readonly timezone: string;
  readonly realTime: Date;
}

interface ClockRow {
  id: string;
  livemode: boolean;
  timezone: string;
  test_clock: Date | null;
  real_time: Date;
  started_from: Date | null;
  target: Date;
  performed: number;
  issued: number;
  parked: number;
  started_at: Date;
  finished_at: Date | null;
}

/** Creates the store of test clocks over changes. */
export function createTestClockStore({ prisma, run }: Changes): TestClockStore {
  return {
    get: async (organisationId) => (isId(organisationId) ? load(prisma, organisationId) : null),
    advance: async (actor, organisationId, request) => {
      if (!isId(organisationId)) return null;
      return run(actor, (transaction) => advance(transaction, organisationId, request));
    },
  };
}

async function advance(
  transaction: PrismaTransaction,
  organisationId: string,
  request: ClockRequest,
): Promise<Changed<TestClock | null>> {
  // Locked, so that no writer decides by the previous time.
  await transaction.$executeRaw`SELECT 1 FROM organisations WHERE id = ${organisationId}::uuid FOR NO KEY UPDATE`;
  const before = await load(transaction, organisationId);
  if (before === null) return { result: null, changes: [] };
  const target = before.state === "advancing" ? (before.advance?.to ?? null) : null;
  const decision = decideAdvance({ ...before, target }, request);
  if (decision.kind !== "advances") return { result: before, changes: [] };
  await transaction.organisation.update({
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
  await transaction.clockAdvance.upsert({
    where: { organisationId },
    create: { organisationId, ...started },
    update: started,
  });
  const change = {
    targetKind: "organisation",
    targetId: organisationId,
    organisationId,
    before: { testClock: before.state === "real_time" ? null : before.now },
    after: { testClock: before.now, target: decision.target },
  } as const;
  return { result: await load(transaction, organisationId), changes: [change] };
}

/**
 * Reads the clock and its advance in one statement, so that both are of one moment. The real time
 * is the database's, as for every other process. It has milliseconds, which is what a clock shows.
 */
async function load(
  transaction: PrismaTransaction,
  organisationId: string,
): Promise<LoadedClock | null> {
  const [row] = await transaction.$queryRaw<
    ClockRow[]
  >`SELECT o.id, o.livemode, o.timezone, o.test_clock,
      date_trunc('milliseconds', clock_timestamp()) AS real_time, a.started_from, a.target, a.performed, a.issued,
      a.parked, a.started_at, a.finished_at
    FROM organisations o LEFT JOIN clock_advances a ON a.organisation_id = o.id WHERE o.id = ${organisationId}::uuid`;
  if (row === undefined) return null;
  const advance = readAdvance(row);
  const isAdvancing = advance !== null && advance.finishedAt === null;
  return {
    organisationId: row.id,
    livemode: row.livemode,
    timezone: row.timezone,
    state: isAdvancing ? "advancing" : row.test_clock === null ? "real_time" : "standing",
    now: row.test_clock ?? row.real_time,
    realTime: row.real_time,
    advance,
  };
}

function readAdvance(row: ClockRow): TestClockAdvance | null {
  if (row.started_from === null) return null;
  return {
    from: row.started_from,
    to: row.target,
    performed: row.performed,
    invoicesIssued: row.issued,
    parked: row.parked,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}
