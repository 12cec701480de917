/**
 * Previews an advance of a test clock: the subscriptions that fall due are read in a snapshot, and
 * billed in memory by the decisions of billing. SQL, because the condition of what is due is that
 * of the billing run. ADMIN-22, CLOCK-1.
 */
import { setImmediate as otherWork } from "node:timers/promises";
import { type CivilDate, todayIn } from "../../domain/calendar/civil-date.ts";
import { add, type Decimal, ZERO } from "../../domain/money/decimal.ts";
import { type DueUntil, dueUntil } from "../../domain/previews/due-until.ts";
import { columns } from "../../gen/columns.ts";
import { loadStates } from "../billing/billing-state.ts";
import { performable } from "../billing/due-organisations.ts";
import { loadOrganisation } from "../billing/locked-subscription.ts";
import type { Transaction } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/** What an advance bills in one currency. */
interface DueTotal {
  readonly currency: string;
  readonly invoices: number;
  readonly invoiced: Decimal;
  readonly creditNotes: number;
  readonly credited: Decimal;
}

/** The most subscriptions that are read, and the most steps: a second or two of the process. */
const maxSubscriptions = 500;
const maxSteps = 10_000;

const findDue = query({
  name: "find_due_until",
  text: sql`
    SELECT s.id
    FROM subscriptions s
    WHERE s.organisation_id = $1 AND s.due_at <= $2 AND ${performable}
    ORDER BY s.due_at, s.id
    LIMIT ${maxSubscriptions + 1}
  `,
  row: pick(columns.subscription, "id"),
});

/**
 * Returns what falls due until `target`, of the earliest due subscriptions. `hasMore`: more than
 * was read.
 */
export async function previewDue(client: Transaction, organisationId: string, target: Date) {
  const { organisation, now } = await loadOrganisation(client, organisationId);
  const ids = (await findDue(client, organisationId, target)).map(({ id }) => id);
  const query = { ids: ids.slice(0, maxSubscriptions), now, isSnapshot: true } as const;
  const states = await loadStates(client, organisation, { ...query, usage: "of_running" });
  const days = new Map<string, CivilDate>();
  const dues: DueUntil[] = [];
  const totals = new Map<string, DueTotal>();
  let steps = 0;
  for (const state of states) {
    if (steps > maxSteps) break;
    const { timezone, currency } = state.subscription;
    const last = days.get(timezone) ?? todayIn(timezone, target);
    days.set(timezone, last);
    const due = dueUntil(state, last);
    steps += due.steps.length;
    dues.push(due);
    totals.set(currency, addDue(totals.get(currency) ?? nothing(currency), due));
    await otherWork();
  }
  const count = (isCounted: (due: DueUntil) => boolean) => dues.filter(isCounted).length;
  return {
    subscriptions: dues.length,
    starts: count(({ starts }) => starts),
    renewals: dues.reduce((all, { renewals }) => all + renewals, 0),
    ends: count(({ ends }) => ends),
    totals: [...totals.values()]
      .filter(({ invoices, creditNotes }) => invoices + creditNotes > 0)
      .toSorted((left, right) => (left.currency < right.currency ? -1 : 1)),
    parked: count(({ isParked }) => isParked),
    hasMore: dues.length < ids.length,
  };
}

function nothing(currency: string): DueTotal {
  return { currency, invoices: 0, invoiced: ZERO, creditNotes: 0, credited: ZERO };
}

function addDue(total: DueTotal, { steps }: DueUntil): DueTotal {
  const invoices = steps.flatMap(({ issued }) => issued.map(({ draft }) => draft.subtotal));
  const notes = steps.flatMap(({ creditNotes }) => creditNotes.map(({ draft }) => draft.subtotal));
  return {
    currency: total.currency,
    invoices: total.invoices + invoices.length,
    invoiced: invoices.reduce(add, total.invoiced),
    creditNotes: total.creditNotes + notes.length,
    credited: notes.reduce(add, total.credited),
  };
}
