/** A batch of usage under way: how it is evaluated, and what of it is late. */
import { isOver } from "../../domain/billing/due-date.ts";
import {
  type EvaluatedUsage,
  evaluateUsage,
  eventsToStore,
  type ReportedUsage,
  type UsageEvent,
  type UsageVerdict,
} from "../../domain/usage/ingest.ts";
import { instantOf } from "../../domain/usage/parse.ts";
import type { Executor } from "../database/prisma/client.ts";
import type { LoadedSubscription, MeterCatalogue, ReportableFacts } from "./ingest-facts.ts";

/**
 * Stores a batch for an organisation, `now` by its clock. Returns one verdict for each event, in
 * order.
 */
export type StoreUsage = (
  organisationId: string,
  reported: readonly ReportedUsage[],
  now: Date,
) => Promise<readonly UsageVerdict[]>;

/** Reported events of an organisation, `now` by its clock. */
export interface UsageReports {
  readonly organisationId: string;
  readonly reported: readonly ReportedUsage[];
  readonly now: Date;
}

/** A batch of an organisation. `subscriptionIds` are those that its events name. */
export interface UsageBatch extends UsageReports {
  readonly subscriptionIds: readonly string[];
}

/** A stored batch. `late` counts events that were created for a period that was over. */
export interface StoredBatch {
  readonly verdicts: readonly UsageVerdict[];
  readonly late: number;
}

/**
 * An evaluated batch. `events` are stored where their ids are free. `lateSubscriptions` are
 * finished ones with nothing due: their late usage must be billed separately (USAGE-10).
 */
export interface EvaluatedBatch {
  readonly evaluated: readonly EvaluatedUsage[];
  readonly events: readonly UsageEvent[];
  readonly lateSubscriptions: readonly LoadedSubscription[];
}

/** Evaluates a batch by facts. */
export async function evaluateBatch(
  executor: Executor,
  catalogue: MeterCatalogue,
  { organisationId, reported, now }: UsageBatch,
  { subscriptions, catalogueVersion }: ReportableFacts,
): Promise<EvaluatedBatch> {
  const meters = await catalogue.meters(executor, organisationId, catalogueVersion);
  const facts = { ...meters, subscriptions, now: instantOf(now) };
  const evaluated = reported.map((one) => evaluateUsage(one, facts));
  const events = eventsToStore(evaluated);
  return { evaluated, events, lateSubscriptions: lateSubscriptions(events, subscriptions) };
}

function lateSubscriptions(
  events: readonly UsageEvent[],
  subscriptions: ReadonlyMap<string, LoadedSubscription>,
): readonly LoadedSubscription[] {
  const late = new Set<LoadedSubscription>();
  for (const { subscriptionId } of events) {
    const subscription = subscriptions.get(subscriptionId);
    if (subscription?.isUndue && isOver(subscription)) late.add(subscription);
  }
  return [...late];
}

/** Counts the created events whose period was over. */
export function countLate(
  created: readonly UsageEvent[],
  { subscriptions }: ReportableFacts,
): number {
  const isLate = ({ subscriptionId, periodIndex }: UsageEvent) =>
    periodIndex < (subscriptions.get(subscriptionId)?.currentPeriod ?? 0);
  return created.filter(isLate).length;
}
