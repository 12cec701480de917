/** The test clock of a sandbox as operators see it: what it shows, where it goes, and having it advanced. */
import { type ClockDecision, type ClockFacts, type ClockRequest, decideAdvance } from "../../domain/test-clock.ts";
import type { ClockAdvance, Organisation } from "../../gen/prisma/client.ts";
import { isId } from "../ids.ts";
import type { Actor, Changed, Changes, Transaction } from "./changes.ts";

/** A clock; `now` is what it shows. */
export interface TestClock {
  readonly organisationId: string;
  readonly livemode: boolean;
  readonly state: "real_time" | "standing" | "advancing";
  readonly now: Date;
  readonly advance: TestClockAdvance | null;
}

/** The advance that runs, or the last one. The instants at which it began and was there are real ones. */
export interface TestClockAdvance {
  readonly from: Date;
  readonly to: Date;
  readonly performed: number;
  readonly invoicesRaised: number;
  readonly setAside: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** Clocks of organisations; null stands for an organisation that does not exist. */
export interface TestClockStore {
  get(organisationId: string): Promise<TestClock | null>;
  /** The clock after what `decideAdvance` decides; refuses as that does. */
  advance(actor: Actor, organisationId: string, request: ClockRequest): Promise<TestClock | null>;
}

type ClockRecord = Organisation & { readonly clockAdvance: ClockAdvance | null };

/** Clocks over changes. */
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
  transaction: Transaction,
  organisationId: string,
  request: ClockRequest,
): Promise<Changed<TestClock | null>> {
  // Held, so that nobody judges anything by the clock that was.
  await transaction.$executeRaw`SELECT 1 FROM organisations WHERE id = ${organisationId}::uuid FOR NO KEY UPDATE`;
  const before = await load(transaction, organisationId);
  if (before === null) return { result: null, changes: [] };
  const decision = await decide(transaction, before, request);
  if (decision.kind !== "advances") return { result: before, changes: [] };
  const { target } = decision;
  await transaction.organisation.update({ where: { id: organisationId }, data: { testClock: before.now } });
  const started = {
    startedFrom: before.now,
    target,
    performed: 0,
    raised: 0,
    setAside: 0,
    startedAt: await realTime(transaction),
    finishedAt: null,
  };
  await transaction.clockAdvance.upsert({
    where: { organisationId },
    create: { organisationId, ...started, movedAt: started.startedAt },
    update: { ...started, movedAt: started.startedAt },
  });
  const change = {
    targetKind: "organisation",
    targetId: organisationId,
    organisationId,
    before: { testClock: before.state === "real_time" ? null : before.now },
    after: { testClock: before.now, target },
  } as const;
  return { result: await load(transaction, organisationId), changes: [change] };
}

async function decide(transaction: Transaction, clock: TestClock, request: ClockRequest): Promise<ClockDecision> {
  const { timezone } = await transaction.organisation.findUniqueOrThrow({
    where: { id: clock.organisationId },
    select: { timezone: true },
  });
  const target = clock.state === "advancing" ? (clock.advance?.to ?? null) : null;
  const facts: ClockFacts = { livemode: clock.livemode, timezone, now: clock.now, target };
  return decideAdvance(facts, request);
}

async function load(transaction: Transaction, organisationId: string): Promise<TestClock | null> {
  const record = await transaction.organisation.findUnique({
    where: { id: organisationId },
    include: { clockAdvance: true },
  });
  return record && readClock(record, await realTime(transaction));
}

/** The database's, as for every other process; to the millisecond, which is what a clock shows. */
async function realTime(transaction: Transaction): Promise<Date> {
  const rows = await transaction.$queryRaw<
    { now: Date }[]
  >`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`;
  if (rows[0] === undefined) throw new Error("the database does not tell its time");
  return rows[0].now;
}

function readClock({ id, livemode, testClock, clockAdvance }: ClockRecord, realTime: Date): TestClock {
  const isAdvancing = clockAdvance !== null && clockAdvance.finishedAt === null;
  return {
    organisationId: id,
    livemode,
    state: isAdvancing ? "advancing" : testClock === null ? "real_time" : "standing",
    now: testClock ?? realTime,
    advance: clockAdvance && {
      from: clockAdvance.startedFrom,
      to: clockAdvance.target,
      performed: clockAdvance.performed,
      invoicesRaised: clockAdvance.raised,
      setAside: clockAdvance.setAside,
      startedAt: clockAdvance.startedAt,
      finishedAt: clockAdvance.finishedAt,
    },
  };
}
