/**
 * A subscription in each state in which it can be previewed, several alike of each, with usage,
 * late usage and deferred amounts, and the operations that are previewed there. PREVIEW-1.
 */
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { park } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import type { ClockBuilder } from "./clock-builder.ts";
import type { Json } from "./units-builder.ts";
import { type UsageBuilder, usageEvent } from "./usage-builder.ts";

/** The day of the previews. Renewal invoices are issued ten days ahead. */
const today = "2026-04-17";
const half = { units: 15, prorate: true, effective_date: today };

/** The operations that are previewed: the last part of the path, and the body. */
export const operations = {
  increase: ["units", { units: 15 }],
  lower: ["units", { units: 5 }],
  prorate: ["units", half],
  defer: ["units", { ...half, proration_behaviour: "charge_on_renewal" }],
  amend: ["units", { ...half, document: "amend" }],
  separate: ["units", { ...half, document: "separate" }],
  endNow: ["end", { when: "now" }],
  endAll: ["end", { when: "now", delete_unsent_invoices: true }],
  endLater: ["end", { when: "period_end" }],
  restore: ["restore", {}],
} as const;

/** The name of an operation that is previewed. */
export type OperationName = keyof typeof operations;

/**
 * A state. `body`: the creation on 1 April, whose `start_date` is a day of the current period.
 * `deferred`: a charge was deferred then. `used`: the days of its usage, which is reported on 16
 * April. `end`: how it was ended that day. `late`: the days of usage that is reported after that,
 * and whether it is due to be billed today. `isOverdue`: what is due is not performed before the
 * operation. `does`: the operations that it does not refuse.
 */
interface PreviewedState {
  readonly body: { readonly start_date: string; readonly end_after_cycles?: number };
  readonly deferred?: true;
  readonly used?: readonly string[];
  readonly end?: "now" | "period_end";
  readonly late?: readonly [isDue: boolean, ...days: string[]];
  readonly isOverdue?: true;
  readonly does: readonly OperationName[];
}

const changes = ["increase", "lower", "prorate"] as const;
const ends = ["endNow", "endAll", "endLater"] as const;
const [pending, quiet, renewed, window, due, over] = [
  { start_date: "2026-05-10" },
  { start_date: "2026-04-01" },
  { start_date: "2026-03-12" },
  { start_date: "2026-03-20" },
  { start_date: "2026-03-17" },
  { start_date: "2026-03-15", end_after_cycles: 1 },
];

/** The states by name. */
export const states = {
  pending: { body: pending, does: ["increase", "lower", ...ends] },
  active: { body: quiet, does: [...changes, "defer", ...ends] },
  renewed: {
    body: renewed,
    used: ["2026-04-02", "2026-04-14"],
    does: [...changes, "defer", ...ends],
  },
  deferring: {
    body: quiet,
    deferred: true,
    used: ["2026-04-02"],
    does: [...changes, "defer", ...ends],
  },
  window: {
    body: window,
    deferred: true,
    used: ["2026-04-02"],
    does: ["amend", "separate", ...ends],
  },
  setToEnd: {
    body: quiet,
    deferred: true,
    used: ["2026-04-02"],
    end: "period_end",
    does: [...changes, ...ends, "restore"],
  },
  setToEndInWindow: {
    body: window,
    deferred: true,
    used: ["2026-04-02"],
    end: "period_end",
    does: [...changes, ...ends, "restore"],
  },
  finalCycle: {
    body: { ...quiet, end_after_cycles: 1 },
    used: ["2026-04-02"],
    does: [...changes, ...ends],
  },
  ended: { body: quiet, used: ["2026-04-02"], end: "now", does: ["restore"] },
  endedInWindow: {
    body: window,
    deferred: true,
    used: ["2026-04-02"],
    end: "now",
    late: [false, "2026-04-03"],
    does: ["restore"],
  },
  endedWithLateUsage: {
    body: quiet,
    used: ["2026-04-02"],
    end: "now",
    late: [false, "2026-04-03"],
    does: ["restore"],
  },
  endedWithDueUsage: {
    body: quiet,
    used: ["2026-04-02"],
    end: "now",
    late: [true, "2026-04-03"],
    does: ["restore"],
  },
  endedInFinalCycle: {
    body: { ...quiet, end_after_cycles: 1 },
    end: "now",
    late: [false, "2026-04-03"],
    does: ["restore"],
  },
  endedWhilePending: { body: pending, end: "now", does: ["restore"] },
  complete: { body: over, does: [] },
  completeWithLateUsage: { body: over, late: [false, "2026-04-03"], does: [] },
  renewalDue: {
    body: due,
    deferred: true,
    used: ["2026-04-02"],
    isOverdue: true,
    does: [...changes, "defer", ...ends],
  },
  completionDue: {
    body: { ...due, end_after_cycles: 1 },
    used: ["2026-04-02"],
    isOverdue: true,
    does: [],
  },
} satisfies Readonly<Record<string, PreviewedState>>;

/** The name of a state. */
export type StateName = keyof typeof states;

/** One subscription in a state: for one operation, or for those that are refused. */
export interface Twin {
  readonly state: StateName;
  readonly operation: OperationName | null;
  readonly id: string;
}

/** What the states are created with. */
interface Creators {
  readonly system: TestSystem;
  readonly ask: Ask;
  readonly clocks: ClockBuilder;
  readonly reports: UsageBuilder;
}

/**
 * Creates the subscriptions: of each state one for each operation that it does, and one for the
 * others. Returns them on the day of the previews.
 */
export async function createStates(
  { system, ask, clocks, reports }: Creators,
  own: CreatedOrganisation,
): Promise<readonly Twin[]> {
  const post = async (path: string, body: object, idempotencyKey: string): Promise<Json> => {
    const answer = await ask("POST", path, { key: own.apiKey, body, idempotencyKey });
    if (answer.status >= 300) throw new Error(`${path} ${JSON.stringify(body)}: ${answer.text}`);
    return answer.json;
  };
  const wanted = Object.entries(states).flatMap(([state, { does }]) =>
    [null, ...does].map((operation) => ({ state: state as StateName, operation })),
  );
  const twins = await Promise.all(
    wanted.map(async (twin): Promise<Twin> => {
      const { body, deferred }: PreviewedState = states[twin.state];
      const name = `${twin.state} ${twin.operation}`.replaceAll(" ", "-");
      const order = { customer_code: "ACME", plan_code: "team", price: "10", units: 10, ...body };
      const { id } = await post("/v1/subscriptions", order, name);
      if (deferred) {
        const change = { units: 12, prorate: true, effective_date: "2026-04-01" };
        const later = { ...change, proration_behaviour: "charge_on_renewal" };
        await post(`/v1/subscriptions/${id}/units`, later, `defer-${name}`);
      }
      return { ...twin, id };
    }),
  );
  const use = async (daysOf: (state: PreviewedState) => readonly string[]): Promise<void> => {
    const events = twins.flatMap(({ state, id }) =>
      daysOf(states[state]).map((day) =>
        usageEvent(id, `${day}T12:00:00+02:00`, { quantity: "40" }),
      ),
    );
    await reports.stored(own, events);
  };
  await clocks.posted(own);
  await clocks.advanced(own, { to: "2026-04-16" });
  await clocks.posted(own);
  await use(({ used = [] }) => used);
  for (const when of ["now", "period_end"] as const) {
    const some = twins.filter(({ state }) => (states[state] as PreviewedState).end === when);
    await Promise.all(some.map(({ id }) => clocks.ended(own, id, { when })));
  }
  await use(({ late: [isDue, ...days] = [false] }) => (isDue ? days : []));
  const waits = ({ isOverdue, late }: PreviewedState) => isOverdue === true || late?.[0] === true;
  const waiting = twins.filter(({ state }) => waits(states[state]));
  await park(system.pool, ...waiting.map(({ id }) => id));
  await clocks.posted(own);
  await clocks.setClock(own, today);
  await use(({ late: [isDue, ...days] = [false] }) => (isDue ? [] : days));
  return twins;
}
