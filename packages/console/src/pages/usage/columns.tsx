/** The columns of usage and of usage events. */
import type { Column } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Day, Instant } from "../../design/values/instant.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import type { Usage, UsageEvent } from "../../gen/billing/admin/v1/usage_pb.ts";
import { usageStates, wordsOf } from "../../words/states.ts";

/** A quantity with thousands apart and no zeros at its end. */
export function quantityText(quantity: string): string {
  const [whole = "", fraction = ""] = quantity.split(".");
  const places = fraction.replace(/0+$/, "");
  return `${grouped(whole)}${places === "" ? "" : `.${places}`}`;
}

/** The columns of usage. */
export const usageColumns: readonly Column<Usage>[] = [
  {
    title: "Period",
    cell: ({ period, late }) =>
      period && (
        <Named
          name={
            <>
              <Day date={period.start} /> to <Day date={period.end} />
            </>
          }
          sub={late ? "reported late" : undefined}
        />
      ),
  },
  { title: "Meter", cell: ({ meter }) => meter?.name, from: "under" },
  { title: "State", cell: ({ state }) => <State {...wordsOf(usageStates, state)} /> },
  { title: "Events", cell: ({ events }) => grouped(events), isNumber: true, from: "desktop" },
  { title: "Quantity", cell: ({ quantity }) => quantityText(quantity), isNumber: true },
  {
    title: "Amount",
    cell: ({ amount, currency }) =>
      amount === undefined ? "–" : <Money amount={amount} currency={currency} />,
    isNumber: true,
    from: "under",
  },
];

/** The columns of usage events. */
export const usageEventColumns: readonly Column<UsageEvent>[] = [
  {
    title: "Event",
    cell: ({ id, voidReason }) => (
      <Named name={<code>{id}</code>} sub={voidReason === undefined ? undefined : voidReason} />
    ),
  },
  { title: "Meter", cell: ({ meter }) => meter?.name, from: "under" },
  {
    title: "State",
    cell: ({ voidedAt, billed }) =>
      voidedAt !== undefined ? (
        <State word="Voided" tone="quiet" />
      ) : billed ? (
        <State word="Billed" tone="ok" />
      ) : (
        <State word="Open" tone="info" />
      ),
  },
  { title: "Used", cell: ({ timestamp }) => <Instant at={timestamp} />, from: "desktop" },
  { title: "Quantity", cell: ({ quantity }) => quantityText(quantity), isNumber: true },
];
