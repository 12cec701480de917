/**
 * Joins reports of usage that arrive together. While some transactions run, further reports wait,
 * and the next transaction stores them together, also those of different organisations. A
 * transaction costs as much as storing a hundred events.
 */
import type { ReportedUsage, UsageVerdict } from "../../domain/usage/ingest.ts";
import { isDatabaseUnreachable } from "../database/errors.ts";

/**
 * Transactions at the same time in a process. They keep PostgreSQL busy while this process
 * evaluates the next reports. With more, each would have fewer events.
 */
const maxTransactions = 3;

/** A transaction takes no further report from this number of events on. It then takes 20 ms. */
const enoughEvents = 800;

/** Reported events of an organisation, `now` by its clock. */
export interface UsageReport {
  readonly organisationId: string;
  readonly reported: readonly ReportedUsage[];
  readonly now: Date;
}

/** One verdict for each event of a report, in order. */
type Verdicts = readonly UsageVerdict[];

/** Stores a report, and returns its verdicts once they are durable. */
export type StoreUsage = (report: UsageReport) => Promise<Verdicts>;

/** The two ways to take locks. */
interface Storing {
  /**
   * Stores reports, each of another organisation. The result of one that would have to wait for
   * locks is null. If it rejects, nothing may be stored, or all of it.
   */
  readonly together: (reports: readonly UsageReport[]) => Promise<readonly (Verdicts | null)[]>;
  /** Stores one report, and waits for what it needs. */
  readonly alone: StoreUsage;
}

interface Waiting extends UsageReport {
  readonly answer: PromiseWithResolvers<Verdicts>;
}

/**
 * Returns a store that joins the reports which arrive while others are stored. An organisation is
 * in one transaction at a time. The others never wait for its rows or for its bill.
 */
export function joinReports({ together, alone }: Storing): StoreUsage {
  let waiting: readonly Waiting[] = [];
  const underWay = new Set<string>();
  let transactions = 0;

  const next = (): void => {
    while (transactions < maxTransactions) {
      const taken = takeReports(waiting, underWay);
      if (taken.size === 0) return;
      waiting = waiting.filter((report) => !taken.has(report));
      void store(Map.groupBy(taken, ({ organisationId }) => organisationId));
    }
  };

  const store = async (organisations: ReadonlyMap<string, readonly Waiting[]>): Promise<void> => {
    transactions += 1;
    for (const id of organisations.keys()) underWay.add(id);
    const batches = [...organisations.values()];
    const stored = await together(batches.map(join)).catch((error: unknown) => ({ error }));
    transactions -= 1;
    for (const [index, [id, reports]] of [...organisations].entries()) {
      const verdicts = "error" in stored ? null : stored[index];
      if (verdicts) {
        answer(reports, verdicts);
        underWay.delete(id);
        continue;
      }
      void storeEach(alone, reports, "error" in stored ? stored.error : null).then(() => {
        underWay.delete(id);
        next();
      });
    }
    next();
  };

  return (report) => {
    const answer = Promise.withResolvers<Verdicts>();
    waiting = [...waiting, { ...report, answer }];
    next();
    return answer.promise;
  };
}

/** The reports to store next, of organisations that have none under way, until there are enough. */
function takeReports(
  waiting: readonly Waiting[],
  underWay: ReadonlySet<string>,
): ReadonlySet<Waiting> {
  let events = 0;
  const taken = waiting.filter(({ organisationId, reported }) => {
    if (events >= enoughEvents || underWay.has(organisationId)) return false;
    events += reported.length;
    return true;
  });
  return new Set(taken);
}

/**
 * Joins reports of one organisation in the order of their arrival, so that each has the answer that
 * it would have alone (USAGE-2). The organisation's clock never goes back: what is not in the
 * future for an earlier report is not in the future for a later one.
 */
function join(reports: readonly Waiting[]): UsageReport {
  const reported = reports.flatMap((report) => report.reported);
  const now = new Date(Math.max(...reports.map((report) => report.now.getTime())));
  return { organisationId: reports[0]?.organisationId ?? "", reported, now };
}

function answer(reports: readonly Waiting[], verdicts: Verdicts): void {
  let first = 0;
  for (const { reported, answer } of reports) {
    answer.resolve(verdicts.slice(first, first + reported.length));
    first += reported.length;
  }
}

/**
 * Stores each report by itself, so that none fails for another's events. What a failed transaction
 * has stored after all is found again (USAGE-3). If the database is lost, all fail with its error.
 */
async function storeEach(
  alone: StoreUsage,
  reports: readonly Waiting[],
  error: unknown,
): Promise<void> {
  let last = error;
  for (const report of reports) {
    try {
      if (isDatabaseUnreachable(last)) throw last;
      report.answer.resolve(await alone(report));
    } catch (error) {
      last = error;
      report.answer.reject(error);
    }
  }
}
