/**
 * The whole life of one subscription in memory: decisions of the domain applied in sequence, as the
 * store would write them.
 */

import { prorationLine } from "../../src/domain/billing/invoice-lines.ts";
import { withUnits } from "../../src/domain/billing/line-facts.ts";
import { decideDue } from "../../src/domain/billing/renewal.ts";
import type { DueInvoice } from "../../src/domain/billing/renewal-usage.ts";
import { addDays, type CivilDate, compareDates } from "../../src/domain/calendar/civil-date.ts";
import type { Plan } from "../../src/domain/catalogue/plan.ts";
import type {
  BillingState,
  DeferredLine,
  IssuedInvoice,
  PeriodState,
} from "../../src/domain/model/billing-state.ts";
import type { CreditNoteLineDraft } from "../../src/domain/model/credit-note.ts";
import type { InvoiceDraft } from "../../src/domain/model/invoice.ts";
import type { OrganisationSettings } from "../../src/domain/model/organisation-settings.ts";
import type { Subscription } from "../../src/domain/model/subscription.ts";
import { formatDecimal, isZero, negate, sum } from "../../src/domain/money/decimal.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
  type UnitsDecision,
} from "../../src/domain/subscriptions/change-units.ts";
import type { CreationDecision } from "../../src/domain/subscriptions/create.ts";
import { decideEnd, decideEnded, type EndRequest } from "../../src/domain/subscriptions/end.ts";
import {
  decideGoingOn,
  type Reissued,
  type RemovedInvoice,
} from "../../src/domain/subscriptions/reissue.ts";
import { decideRestoration } from "../../src/domain/subscriptions/restore.ts";
import {
  decideReversal,
  type NextPeriodLines,
  noNextPeriodLines,
} from "../../src/domain/subscriptions/reversal.ts";
import { amend, creditIn, defer, remove } from "./life-documents.ts";

/** An invoice, standing or removed. `byHand`: a person removed it in the ledger. */
export interface Paper extends Pick<InvoiceDraft, "type" | "periodIndex" | "lines"> {
  readonly id: string;
  readonly isRemoved: boolean;
  readonly byHand?: boolean;
}

/** A deferred charge: `paperId` is the paper that bills it, or null. */
interface Deferred {
  readonly line: DeferredLine;
  readonly paperId: string | null;
}

/**
 * The lines of a period on documents that come to nothing together, by a reversal: of papers by id,
 * of credits by place.
 */
interface Reversed {
  readonly index: number;
  readonly papers: readonly string[];
  readonly credits: readonly number[];
}

/**
 * Everything that is known of the subscription. `removed`: ids of what its end removed since it was
 * restored last. `lost`: what an end removed that was then refused, and up to which day its lines
 * were not billed by another.
 */
export interface Life {
  readonly organisation: OrganisationSettings;
  readonly plan: Plan;
  readonly subscription: Subscription;
  readonly today: CivilDate;
  readonly current: number;
  /** The new total of each change of units, by its id, oldest first. */
  readonly changes: ReadonlyMap<string, number>;
  readonly periods: readonly PeriodState[];
  readonly papers: readonly Paper[];
  readonly credits: readonly CreditNoteLineDraft[];
  readonly deferred: readonly Deferred[];
  readonly removed: readonly string[];
  readonly lost: readonly { readonly id: string; readonly until: CivilDate }[];
  readonly reversed: readonly Reversed[];
}

/** The life of what was just created. */
export function begun(
  organisation: OrganisationSettings,
  decision: CreationDecision,
  today: CivilDate,
): Life {
  const { plan, subscription, firstPeriod, renewalPeriod, invoice, renewalInvoice } = decision;
  const flags = { setupMode: false, prorationClosed: false, billedSeparately: false };
  const life: Life = {
    organisation,
    plan,
    subscription: { ...subscription, id: "subscription" },
    today,
    current: 0,
    changes: new Map(),
    periods: [firstPeriod, renewalPeriod].flatMap((period) =>
      period === null ? [] : [{ ...period, ...flags }],
    ),
    papers: [],
    credits: [],
    deferred: [],
    removed: [],
    lost: [],
    reversed: [],
  };
  return [invoice, renewalInvoice].reduce(
    (now, draft) => (draft === null ? now : issue(now, { draft, deferredIds: [], usage: [] })),
    life,
  );
}

/** The facts for the rules; every invoice is a draft in the ledger with nothing paid. */
export function stateIn(life: Life): BillingState {
  const { organisation, plan, subscription, today, current, periods, deferred } = life;
  const [period, nextPeriod = null] = [periods[current], periods[current + 1]];
  if (period === undefined) throw new Error(`no period ${current}`);
  return {
    organisation,
    subscription,
    plan,
    period,
    nextPeriod,
    endRemovedRenewal: isRemovedByEnd(
      life.papers.filter(
        ({ type, periodIndex }) => type === "renewal" && periodIndex === current + 1,
      ),
    ),
    invoices: openIn(life).filter(({ periodIndex }) => periodIndex >= current),
    deferred: deferred.flatMap(({ line, paperId }) => (paperId === null ? [line] : [])),
    usage: [],
    usageBills: { open: 0, billed: 0 },
    running: null,
    today,
  };
}

function isRemovedByEnd(renewals: readonly Paper[]): boolean {
  return renewals.length > 0 && renewals.every(({ isRemoved, byHand }) => isRemoved && !byHand);
}

/** A paper that a credit reverses counts as credited. */
export function openIn({
  papers,
  credits,
}: Life): readonly (IssuedInvoice & { readonly sent: boolean })[] {
  const open = papers
    .filter(({ isRemoved }) => !isRemoved)
    .map(({ id, type, periodIndex, lines }) => {
      const total = sum(lines.map(({ amount }) => amount));
      return {
        id,
        number: id,
        type,
        periodIndex,
        status: "draft",
        total,
        amountDue: sum([
          total,
          ...credits.flatMap((one) => (one.reversedInvoiceId === id ? [negate(one.amount)] : [])),
        ]),
        inLedger: true,
        isAltered: false,
        isPlanLineKnown: true,
        sent: false,
      } as const;
    });
  return open.reverse();
}

/** Some days later, with everything done that was due. */
export function pass(life: Life, days: number): Life {
  const later = { ...life, today: addDays(life.today, days) };
  const due = decideDue(stateIn(later));
  if (due === null) return later;
  const { subscription, currentPeriod: current, periods, invoices } = due;
  return invoices.reduce(issue, {
    ...later,
    subscription,
    current,
    periods: written(later, periods),
  });
}

/** The id that the next change of units will have. */
export const nextChangeId = ({ changes }: Life): string => `change-${changes.size}`;

/** The state after a change of units, and the decision; null if it is refused. */
export function change(
  life: Life,
  request: UnitsChangeRequest,
): { life: Life; decision: UnitsDecision } | null {
  const state = stateIn(life);
  const changeId = nextChangeId(life);
  const decision = unlessRefused(() => decideUnitsChange(state, { ...request, changeId }));
  if (decision === null) return null;
  const { units, periods, invoice, joined, amended, deferred, creditNote } = decision;
  let after: Life = {
    ...life,
    subscription: withUnits(life.subscription, { units, changeId }),
    changes: new Map([...life.changes, [changeId, units]]),
    periods: written(life, periods),
  };
  for (const amendment of [joined, amended])
    if (amendment !== null) after = amend(after, amendment);
  for (const line of amended?.added ?? []) after = defer(after, line, amended?.invoiceId ?? null);
  if (invoice !== null) after = issue(after, { draft: invoice, deferredIds: [], usage: [] });
  if (creditNote !== null) after = creditIn(after, creditNote);
  if (deferred !== null)
    after = defer(after, prorationLine(life.plan, deferred, life.organisation), null);
  return { life: after, decision };
}

/** The end, if the ledger refuses the removal after so many; null if the end itself is refused. */
export function end(life: Life, request: EndRequest, removable: number): Life | null {
  const facts = { state: stateIn(life), invoices: openIn(life), next: nextIn(life, []) };
  const decision = unlessRefused(() => decideEnd(facts, request));
  if (decision === null || decision.kind === "unchanged") return decision && life;
  const { removals } = decision;
  const gone = removals.slice(0, removable);
  const after = gone.reduce((now, id, index) => {
    const removed = remove(now, id);
    return isRenewalAhead(now, id) ? reverse(removed, removals.slice(index + 1)) : removed;
  }, life);
  if (removable < removals.length) return goOn(after, gone);
  const { subscription, invoices, creditNotes } = decideEnded(
    stateIn(after),
    request.when,
    nextIn(after, []),
  );
  const over = invoices.reduce(issue, {
    ...after,
    subscription,
    removed: [...after.removed, ...gone],
  });
  return marked(
    creditNotes.reduce((now, { draft }) => creditIn(now, draft), over),
    [],
  );
}

/**
 * The amounts of the next period that documents other than the renewal invoice bill, except those
 * still to be removed.
 */
export function nextIn(life: Life, waiting: readonly string[]): NextPeriodLines {
  const period = life.periods[life.current + 1];
  if (period === undefined) return noNextPeriodLines;
  const isOf = (day: CivilDate) =>
    compareDates(period.start, day) <= 0 && compareDates(day, period.end) < 0;
  const lines = otherOpenPapers(life, waiting).flatMap((paper) =>
    paper.lines.flatMap((line) =>
      line.period !== null && isOf(line.period.start)
        ? [{ ...line, invoiceId: paper.id, number: paper.id }]
        : [],
    ),
  );
  const credits = life.credits.flatMap((line, index) =>
    isOf(line.effectiveDate)
      ? [{ ...line, amount: negate(line.amount), invoiceId: null, number: `credit ${index}` }]
      : [],
  );
  const renewal = life.papers.findLast(
    ({ type, periodIndex }) => type === "renewal" && periodIndex === period.index,
  );
  const renewalUnits = renewal?.lines.find(({ kind }) => kind === "plan")?.units ?? null;
  return { lines: [...lines, ...credits], renewalUnits };
}

function otherOpenPapers({ papers, current }: Life, waiting: readonly string[]): readonly Paper[] {
  const isRenewal = ({ type, periodIndex }: Paper) =>
    type === "renewal" && periodIndex === current + 1;
  return papers.filter(
    (paper) => !paper.isRemoved && !isRenewal(paper) && !waiting.includes(paper.id),
  );
}

/** The next period is reversed; what is `waiting` to be removed is left out. */
function reverse(life: Life, waiting: readonly string[]): Life {
  const { invoice, creditNote } = decideReversal(stateIn(life), nextIn(life, waiting));
  const charged = invoice === null ? life : issue(life, invoice);
  return marked(creditNote === null ? charged : creditIn(charged, creditNote), waiting);
}

/** Asserts that the documents of the next period other than its renewal invoice sum to zero. */
function marked(life: Life, waiting: readonly string[]): Life {
  const period = life.periods[life.current + 1];
  if (period === undefined) return life;
  const left = sum(nextIn(life, waiting).lines.map(({ amount }) => amount));
  if (!isZero(left)) throw new Error(`${formatDecimal(left)} of the next period is left`);
  const papers = otherOpenPapers(life, waiting).map(({ id }) => id);
  const others = life.reversed.filter(({ index }) => index !== period.index);
  const credits = life.credits.map((_, place) => place);
  return { ...life, reversed: [...others, { index: period.index, papers, credits }] };
}

function isRenewalAhead({ papers, current }: Life, id: string): boolean {
  return papers.some((one) => one.id === id && one.type === "renewal" && one.periodIndex > current);
}

/** The restoration; null if it is refused. */
export function restore(life: Life): Life | null {
  const removed = removedIn(life, life.removed);
  const restoration = unlessRefused(() =>
    decideRestoration({
      state: stateIn(life),
      customerStatus: "active",
      removed,
      next: nextIn(life, []),
    }),
  );
  if (restoration === null) return null;
  return reissueInvoices(
    { ...life, subscription: restoration.subscription, removed: [] },
    restoration,
  );
}

/** What was refused after these were removed: what the subscription goes on to is billed again. */
function goOn(life: Life, gone: readonly string[]): Life {
  const { subscription } = life;
  const again = decideGoingOn(stateIn(life), removedIn(life, gone), nextIn(life, []));
  const lost = gone
    .filter((id) => id !== again?.of)
    .map((id) => ({ id, until: subscription.renewalDate }));
  const after = { ...life, lost: [...life.lost, ...lost] };
  if (again === null) return after;
  const issued = reissueInvoices(after, again);
  return again.periods.length === 0 ? issued : marked(issued, []);
}

/** The removed papers of these ids that a restoration may issue again. */
export function removedIn(
  { current, papers, deferred }: Life,
  ids: readonly string[],
): readonly RemovedInvoice[] {
  return papers
    .filter(({ id, periodIndex }) => ids.includes(id) && periodIndex >= current - 1)
    .map((paper) => ({
      ...paper,
      number: paper.id,
      lines: paper.lines.map((line) => ({ ...line, id: "line" })),
      billsDeferred: deferred.some(({ paperId }) => paperId === paper.id),
    }));
}

function reissueInvoices(life: Life, { periods, invoices, creditNote }: Reissued): Life {
  const start: Life = { ...life, periods: written(life, periods) };
  const issued = invoices.reduce((now, { replaces, ...invoice }) => {
    const after = issue(now, invoice);
    const id = after.papers.at(-1)?.id ?? "";
    const takenOver = after.deferred.map((one) =>
      replaces !== null && one.paperId === replaces ? { ...one, paperId: id } : one,
    );
    return { ...after, deferred: takenOver };
  }, start);
  return creditNote === null ? issued : creditIn(issued, creditNote);
}

function unlessRefused<T>(decide: () => T): T | null {
  try {
    return decide();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function written({ periods }: Life, changed: readonly PeriodState[]): readonly PeriodState[] {
  const all = [...periods];
  for (const period of changed) all[period.index] = period;
  return all;
}

function issue(life: Life, { draft, deferredIds }: DueInvoice): Life {
  const { type, periodIndex, lines } = draft;
  const id = `paper ${life.papers.length}`;
  const deferred = life.deferred.map((one) => {
    if (!deferredIds.includes(one.line.id)) return one;
    if (one.paperId !== null) throw new Error(`${one.line.id} is billed already`);
    return { ...one, paperId: id };
  });
  return {
    ...life,
    papers: [...life.papers, { id, type, periodIndex, lines, isRemoved: false }],
    deferred,
  };
}
