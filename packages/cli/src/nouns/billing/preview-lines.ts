/** What a person reads of the previews of voiding a usage event and of advancing a clock. */
import type { Column, Work } from "../../noun.ts";
import { layText } from "../../output/document.ts";
import { layNamed, layTable } from "../../output/lay-table.ts";
import type { Json } from "../../output/message-json.ts";
import { amountOf, counted, listOf, minuteOf, money } from "../../output/words.ts";

/** The usage of a meter in a period. */
interface Usage {
  readonly events: string;
  readonly quantity: string;
  readonly amount: string;
}

/** The preview of a void. */
interface VoidPreview {
  readonly event: {
    readonly id: string;
    readonly meter: { readonly name: string };
    readonly quantity: string;
    readonly period: { readonly start: string; readonly end: string };
  };
  readonly before: Usage;
  readonly after: Usage;
  readonly currency: string;
}

/** `200`, `1.5`. A quantity of the API has four places. */
const quantityOf = (quantity: string) => quantity.replace(/\.?0+$/, "");

/** Returns the lines of the preview of a void: a sentence, and the usage with it and without. */
export function voidLines(json: Json, { terminal }: Work): readonly string[] {
  const { event, before, after, currency } = json as unknown as VoidPreview;
  const { meter, period, quantity, id } = event;
  const was =
    before.amount === after.amount ? "as with it" : `not ${money(currency, before.amount)}`;
  const row = (usage: string, { events, quantity: sum, amount }: Usage) => ({
    usage,
    events,
    quantity: quantityOf(sum),
    [currency]: amountOf(currency, amount),
  });
  return [
    ...layText(
      terminal,
      `Without the event ${id} of ${quantityOf(quantity)}, the usage of ${meter.name} from ` +
        `${period.start} to ${period.end} comes to ${money(currency, after.amount)}, ${was} ` +
        "(without tax). Nothing is changed by this preview.",
    ),
    "",
    ...layTable(
      terminal,
      [row("as it is", before), row("without the event", after)],
      ["usage", "events", "quantity", currency],
    ),
  ];
}

/** The preview of an advance. */
interface AdvancePreview {
  readonly from: string;
  readonly to: string;
  readonly subscriptions: number;
  readonly starts: number;
  readonly renewals: number;
  readonly ends: number;
  readonly parked: number;
  readonly has_more: boolean;
}

const totalColumns: readonly Column[] = [
  "currency",
  "invoices",
  { title: "without tax", of: ({ currency, invoiced }) => amountOf(currency, invoiced) },
  "credit_notes",
  { title: "without tax", of: ({ currency, credited }) => amountOf(currency, credited) },
];

/** Returns the lines of the preview of an advance: a sentence, what falls due, and its totals. */
export function advanceLines(json: Json, { terminal }: Work): readonly string[] {
  const preview = json as unknown as AdvancePreview;
  const { from, to, subscriptions, starts, renewals, ends, parked } = preview;
  const totals = listOf(json.totals);
  const due =
    subscriptions === 0
      ? "nothing falls due on the way"
      : `something falls due for ${counted(subscriptions, "subscription")}`;
  const subscriptionsOf = (count: number) =>
    count === 0 ? "nothing" : counted(count, "subscription");
  return [
    ...layText(
      terminal,
      `The clock goes from ${minuteOf(from)} to ${minuteOf(to)} UTC, and ${due}. ` +
        "Nothing is changed by this preview.",
    ),
    ...(subscriptions === 0
      ? []
      : [
          "",
          ...layNamed(terminal, [
            ["begins", subscriptionsOf(starts)],
            ["renews", renewals === 0 ? "nothing" : counted(renewals, "period")],
            ["completes", subscriptionsOf(ends)],
            ["is parked", subscriptionsOf(parked)],
            ...(totals.length === 0 ? ([["is billed", "nothing"]] as const) : []),
          ]),
        ]),
    ...(totals.length === 0 ? [] : ["", ...layTable(terminal, totals, totalColumns)]),
    ...(preview.has_more
      ? ["", ...layText(terminal, "More falls due: these are the earliest subscriptions.")]
      : []),
  ];
}
