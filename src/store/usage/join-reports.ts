/**
 * Joins reports of usage that arrive together: while some transactions of an organisation run, its
 * further reports wait, and the next transaction stores them together. A commit is most of the cost
 * of a report of one event. A joined batch is evaluated in the order of arrival, so that each
 * report has the answer that it would have alone (USAGE-2).
 */
import type { ReportedUsage, UsageVerdict } from "../../domain/usage/ingest.ts";
import { isDatabaseUnreachable } from "../access/api-keys.ts";
import type { StoreUsage } from "./batch.ts";

/**
 * Transactions of one organisation at the same time in a process. With more, each has fewer reports
 * and the commits cost more than they hide. One alone would leave PostgreSQL idle between two.
 */
const mostInFlight = 3;

/**
 * A transaction takes no further report from this number of events on. Two reports of 100 events
 * gain little from each other, and the rows of a longer one would be locked longer.
 */
const enoughEvents = 100;

/**
 * An organisation's reports that wait in a process. With a hundred events each they take seconds to
 * store. One more is refused as if the server had no connections left.
 */
const mostWaiting = 1_000;

/** A report that waits for its transaction. */
interface Report {
  readonly reported: readonly ReportedUsage[];
  readonly now: Date;
  readonly answer: PromiseWithResolvers<readonly UsageVerdict[]>;
}

/** An organisation's reports that wait, and its transactions under way. */
interface Queue {
  waiting: Report[];
  inFlight: number;
}

/** Returns `store` with the reports of an organisation joined while others of it are stored. */
export function joinReports(store: StoreUsage): StoreUsage {
  const queues = new Map<string, Queue>();

  const next = (organisationId: string, queue: Queue): void => {
    while (queue.waiting.length > 0 && queue.inFlight < mostInFlight) {
      const batch = takeBatch(queue);
      queue.inFlight += 1;
      void storeBatch(store, organisationId, batch).finally(() => {
        queue.inFlight -= 1;
        if (queue.waiting.length > 0) next(organisationId, queue);
        else if (queue.inFlight === 0) queues.delete(organisationId);
      });
    }
  };

  return (organisationId, reported, now) => {
    const report = { reported, now, answer: Promise.withResolvers<readonly UsageVerdict[]>() };
    const queue = queues.get(organisationId) ?? { waiting: [], inFlight: 0 };
    if (queue.waiting.length >= mostWaiting) {
      const full = new Error("too many reports of usage wait to be stored");
      return Promise.reject(Object.assign(full, { code: "53300" }));
    }
    queues.set(organisationId, queue);
    queue.waiting.push(report);
    next(organisationId, queue);
    return report.answer.promise;
  };
}

/** Takes reports in the order of their arrival until there are enough events. */
function takeBatch(queue: Queue): readonly Report[] {
  let events = 0;
  let count = 0;
  for (const { reported } of queue.waiting) {
    if (count > 0 && events + reported.length > enoughEvents) break;
    events += reported.length;
    count += 1;
  }
  return queue.waiting.splice(0, count);
}

/** Stores the reports in one transaction and answers each. Never rejects. */
async function storeBatch(
  store: StoreUsage,
  organisationId: string,
  batch: readonly Report[],
): Promise<void> {
  try {
    const reported = batch.flatMap((report) => report.reported);
    // The organisation's clock never goes back: what is not in the future for an earlier report is
    // not in the future for a later one.
    const now = new Date(Math.max(...batch.map((report) => report.now.getTime())));
    const verdicts = await store(organisationId, reported, now);
    let first = 0;
    for (const report of batch) {
      const last = first + report.reported.length;
      report.answer.resolve(verdicts.slice(first, last));
      first = last;
    }
  } catch (error) {
    await storeEach(store, organisationId, batch, error);
  }
}

/**
 * After a failure stores each report by itself, so that none fails for another's events. What the
 * failed transaction has stored after all is found again (USAGE-3). If the database was lost, all
 * have failed for the same reason.
 */
async function storeEach(
  store: StoreUsage,
  organisationId: string,
  batch: readonly Report[],
  cause: unknown,
): Promise<void> {
  if (batch.length === 1 || isDatabaseUnreachable(cause)) {
    for (const { answer } of batch) answer.reject(cause);
    return;
  }
  for (const { reported, now, answer } of batch) {
    try {
      answer.resolve(await store(organisationId, reported, now));
    } catch (error) {
      answer.reject(error);
    }
  }
}
