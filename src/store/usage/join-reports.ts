/**
 * Joins reports of usage that arrive together. While some statements run, further reports wait, and
 * the next statement stores them together, also those of different organisations. A statement and
 * its commit cost as much as storing a hundred events. The reports of an organisation are evaluated
 * in the order of arrival, so that each has the answer that it would have alone (USAGE-2).
 *
 * While an organisation reports faster than its statements end, one more statement takes the
 * reports of those that have none under way. They then never wait for a statement of hundreds of
 * its events.
 */
import type { UsageVerdict } from "../../domain/usage/ingest.ts";
import { isDatabaseUnreachable } from "../database/unreachable.ts";
import type { StoreUsage, UsageReports } from "./batch.ts";

/**
 * Statements at the same time in a process. They keep PostgreSQL busy while this process evaluates
 * the next reports. With more, each would have fewer events.
 */
const maxStatements = 3;

/**
 * Fewer events wait until a running statement ends, some milliseconds, and do not begin another
 * one. Below this number the fixed cost is a quarter of a statement or more.
 */
const worthStatement = 400;

/**
 * An organisation's batches at the same time in a process. One that waits for locks by itself holds
 * up no other organisation.
 */
const maxInFlight = 3;

/**
 * A statement takes no further report from this number of events on. Its fixed cost is then a
 * seventh of the whole, and it takes about 20 ms.
 */
const enoughEvents = 800;

/**
 * An organisation's reports that wait in a process. With a hundred events each they take seconds to
 * store. One more is refused as if the server had no connections left.
 */
const maxWaiting = 1_000;

/** The two ways to store. */
interface Storing {
  /**
   * Stores batches, each of another organisation. The result of one that must be stored alone is
   * null. If it rejects, nothing may be stored, or all of it.
   */
  readonly together: (
    batches: readonly UsageReports[],
  ) => Promise<readonly (readonly UsageVerdict[] | null)[]>;
  /** Stores one batch, and waits for what it needs. */
  readonly alone: (batch: UsageReports) => Promise<readonly UsageVerdict[]>;
}

/** A report that waits to be stored. */
interface Report extends UsageReports {
  readonly answer: PromiseWithResolvers<readonly UsageVerdict[]>;
}

/** An organisation's reports that wait, and its batches under way. */
interface Queue {
  readonly organisationId: string;
  readonly waiting: Report[];
  inFlight: number;
}

/** Reports of one organisation that are stored together. */
interface Batch extends UsageReports {
  readonly queue: Queue;
  readonly reports: readonly Report[];
}

/** Returns a store that joins the reports which arrive while others are stored. */
export function joinReports(storing: Storing): StoreUsage {
  const queues = new Map<string, Queue>();
  let statements = 0;
  let isApart = false;

  const next = (): void => {
    while (statements === 0 || (statements < maxStatements && isWorthStatement(queues))) {
      const batches = takeBatches(queues, isReady);
      if (batches.length === 0) break;
      statements += 1;
      void store(batches, () => {
        statements -= 1;
      });
    }
    if (isApart || ![...queues.values()].some(isBusy)) return;
    const idle = takeBatches(queues, isIdle);
    if (idle.length === 0) return;
    isApart = true;
    void store(idle, () => {
      isApart = false;
    });
  };

  const release = ({ queue }: Batch): void => {
    queue.inFlight -= 1;
    if (queue.inFlight === 0 && queue.waiting.length === 0) queues.delete(queue.organisationId);
  };

  const store = async (batches: readonly Batch[], onEnd: () => void): Promise<void> => {
    for (const { queue } of batches) queue.inFlight += 1;
    const outcome = await outcomeOf(storing.together(batches));
    onEnd();
    const verdictsOf = (at: number) => ("cause" in outcome ? null : (outcome.value[at] ?? null));
    for (const [at, batch] of batches.entries()) if (verdictsOf(at) !== null) release(batch);
    next();
    for (const [at, batch] of batches.entries()) {
      const verdicts = verdictsOf(at);
      if (verdicts !== null) answer(batch, verdicts);
      else void storeLater(batch, outcome, batches.length);
    }
  };

  const storeLater = async (...later: readonly [Batch, Outcome<unknown>, number]) => {
    await storeAlone(storing, ...later);
    release(later[0]);
    next();
  };

  return (organisationId, reported, now) => {
    const queue = queues.get(organisationId) ?? { organisationId, waiting: [], inFlight: 0 };
    if (queue.waiting.length >= maxWaiting) {
      const full = new Error("too many reports of usage wait to be stored");
      return Promise.reject(Object.assign(full, { code: "53300" }));
    }
    queues.set(organisationId, queue);
    const answer = Promise.withResolvers<readonly UsageVerdict[]>();
    queue.waiting.push({ organisationId, reported, now, answer });
    next();
    return answer.promise;
  };
}

function isReady({ waiting, inFlight }: Queue): boolean {
  return waiting.length > 0 && inFlight < maxInFlight;
}

/** Whether an organisation reports faster than its statements end. */
function isBusy({ waiting, inFlight }: Queue): boolean {
  return waiting.length > 0 && inFlight > 0;
}

function isIdle({ waiting, inFlight }: Queue): boolean {
  return waiting.length > 0 && inFlight === 0;
}

function isWorthStatement(queues: ReadonlyMap<string, Queue>): boolean {
  let events = 0;
  for (const queue of queues.values()) {
    for (const { reported } of isReady(queue) ? queue.waiting : []) {
      events += reported.length;
      if (events >= worthStatement) return true;
    }
  }
  return false;
}

/**
 * Takes reports of these organisations in the order of their arrival, one of each organisation,
 * then a second one of each, until there are enough events. The next statement begins with the
 * other organisations.
 */
function takeBatches(
  queues: Map<string, Queue>,
  isTaken: (queue: Queue) => boolean,
): readonly Batch[] {
  const ready = [...queues.values()].filter(isTaken);
  const counts = new Map<Queue, number>();
  let events = 0;
  for (let at = 0; ready.some(({ waiting }) => at < waiting.length); at += 1) {
    for (const queue of ready) {
      const report = queue.waiting[at];
      if (report === undefined) continue;
      if (events > 0 && events + report.reported.length > enoughEvents) return splice();
      events += report.reported.length;
      counts.set(queue, at + 1);
    }
  }
  return splice();

  function splice(): readonly Batch[] {
    return [...counts].map(([queue, count]) => {
      queues.delete(queue.organisationId);
      queues.set(queue.organisationId, queue);
      return join(queue, queue.waiting.splice(0, count));
    });
  }
}

function join(queue: Queue, reports: readonly Report[]): Batch {
  return {
    queue,
    reports,
    organisationId: queue.organisationId,
    reported: reports.flatMap(({ reported }) => reported),
    // The organisation's clock never goes back: what is not in the future for an earlier report is
    // not in the future for a later one.
    now: new Date(Math.max(...reports.map(({ now }) => now.getTime()))),
  };
}

function answer({ reports }: Batch, verdicts: readonly UsageVerdict[]): void {
  let first = 0;
  for (const { reported, answer } of reports) {
    const last = first + reported.length;
    answer.resolve(verdicts.slice(first, last));
    first = last;
  }
}

type Outcome<T> = { readonly value: T } | { readonly cause: unknown };

function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  return promise.then(
    (value) => ({ value }),
    (cause: unknown) => ({ cause }),
  );
}

/**
 * Stores a batch that a statement has left out or failed with. After a failure each report is
 * stored by itself, so that none fails for another's events. What the failed transaction has stored
 * after all is found again (USAGE-3). If the database was lost, all have failed for the same
 * reason. Never rejects.
 */
async function storeAlone(
  { alone }: Storing,
  batch: Batch,
  together: Outcome<unknown>,
  batches: number,
): Promise<void> {
  const { reports } = batch;
  const failed = "cause" in together ? together : await outcomeOf(alone(batch));
  if ("value" in failed) return answer(batch, failed.value);
  const isAlone = reports.length === 1 && (batches === 1 || !("cause" in together));
  if (isAlone || isDatabaseUnreachable(failed.cause)) {
    for (const { answer } of reports) answer.reject(failed.cause);
    return;
  }
  for (const report of reports) {
    const one = await outcomeOf(alone(report));
    if ("value" in one) report.answer.resolve(one.value);
    else report.answer.reject(one.cause);
  }
}
