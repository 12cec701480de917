/** What an act would do to a subscription: its facts, documents and events, and what is assumed. */
import { useQuery } from "@connectrpc/connect-query";
import styles from "../../../act/changes.module.css";
import { amountDifference, type Change, Changes, numberDifference } from "../../../act/changes.tsx";
import { useOrganisation } from "../../../data/organisation.tsx";
import { dayText } from "../../../design/values/instant.tsx";
import { grouped } from "../../../design/values/money.tsx";
import type { PreviewedEvents } from "../../../gen/billing/admin/v1/subscription_previews_pb.ts";
import { SubscriptionService } from "../../../gen/billing/admin/v1/subscriptions_pb.ts";
import { PreviewAssumption, type UpcomingInvoice } from "../../../gen/billing/v1/previews_pb.ts";
import {
  type Subscription,
  type SubscriptionPreview,
  SubscriptionStatus,
} from "../../../gen/billing/v1/subscriptions_pb.ts";
import { everyText } from "../../../words/choices.ts";
import { invoiceTypes } from "../../../words/states.ts";
import type { Subtotals } from "./amended.ts";
import { PreviewedDocument } from "./previewed-document.tsx";
import { Events } from "./previewed-events.tsx";
import { moneyText, stateText } from "./words.ts";

/** A preview, and what there is now. */
interface PreviewedProps {
  readonly preview: SubscriptionPreview;
  readonly events: readonly PreviewedEvents[] | undefined;
  /** The subscription as it is. Absent for one that is created. */
  readonly before?: Subscription;
  readonly subtotals?: Subtotals;
}

/** Shows the preview. */
export function Previewed({ preview, events = [], before, subtotals }: PreviewedProps) {
  const changes = useChanges(preview, before);
  return (
    <>
      {changes.length > 0 && <Changes changes={changes} />}
      {before === undefined && preview.subscription && <Created {...preview.subscription} />}
      <Documents preview={preview} subtotals={subtotals ?? new Map()} />
      <Events events={events} />
      <Assumptions assumptions={preview.assumptions} />
    </>
  );
}

/** What a new subscription is like. */
function Created(subscription: Subscription) {
  const { startDate, renewalDate, renewalValue, currency, interval, endDate } = subscription;
  const value = `${moneyText(renewalValue, currency)} ${everyText(interval)}`;
  return (
    <Changes
      changes={[
        { name: "State", becomes: stateText(subscription) },
        { name: "Starts", becomes: dayText(startDate) },
        { name: "Renews", becomes: dayText(renewalDate) },
        { name: "Value at renewal", becomes: value },
        ...(endDate === undefined ? [] : [{ name: "Ends", becomes: dayText(endDate) }]),
      ]}
    />
  );
}

/** Returns what changes of the subscription, and of what its renewal bills. */
function useChanges(
  { subscription: after, upcomingInvoice: next }: SubscriptionPreview,
  before: Subscription | undefined,
): readonly Change[] {
  const { id: organisation } = useOrganisation();
  const isRunning =
    before?.status === SubscriptionStatus.ACTIVE || before?.status === SubscriptionStatus.PENDING;
  const read = useQuery(
    SubscriptionService.method.getUpcomingInvoice,
    { organisation, id: before?.id ?? "" },
    { enabled: isRunning },
  );
  if (before === undefined || after === undefined) return [];
  const { currency } = after;
  const end = ({ endDate }: Subscription) => (endDate === undefined ? "none" : dayText(endDate));
  const sum = (of: UpcomingInvoice | undefined) =>
    of === undefined ? "none" : moneyText(of.subtotal, currency);
  const now = read.data?.upcomingInvoice;
  const changes: readonly Change[] = [
    { name: "State", was: stateText(before), becomes: stateText(after) },
    {
      name: "Units",
      was: grouped(before.units),
      becomes: grouped(after.units),
      difference: numberDifference(before.units, after.units),
    },
    {
      name: "Value at renewal",
      was: moneyText(before.renewalValue, currency),
      becomes: moneyText(after.renewalValue, currency),
      difference: amountDifference(before.renewalValue, after.renewalValue, currency),
    },
    { name: "End", was: end(before), becomes: end(after) },
    { name: "Renewal", was: dayText(before.renewalDate), becomes: dayText(after.renewalDate) },
    {
      name: "Next invoice",
      was: sum(now),
      becomes: sum(next),
      ...(now && next && { difference: amountDifference(now.subtotal, next.subtotal, currency) }),
    },
  ];
  return changes.filter(({ name, was, becomes }) =>
    name === "Next invoice" && read.isLoading ? false : was !== becomes,
  );
}

function Documents({
  preview,
  subtotals,
}: {
  readonly preview: SubscriptionPreview;
  readonly subtotals: Subtotals;
}) {
  const { issuedInvoices, amendedInvoices, removedInvoices, creditNotes, deferredLines } = preview;
  const currency = preview.subscription?.currency ?? "";
  const all = [issuedInvoices, amendedInvoices, removedInvoices, creditNotes, deferredLines];
  return (
    <>
      {all.every(({ length }) => length === 0) && (
        <p className={styles.nothing}>No document is issued, amended, removed or credited.</p>
      )}
      {removedInvoices.map(({ number, subtotal, lines, onlyIfUnsent }, index) => (
        <PreviewedDocument
          key={number ?? index}
          title={`Removes invoice ${number ?? "(new)"}`}
          sub={
            onlyIfUnsent ? "Left alone if the ledger has approved or sent it by then." : undefined
          }
          lines={lines}
          currency={currency}
          subtotal={subtotal}
          isFolded
        />
      ))}
      {amendedInvoices.map(({ invoice = "", number, ...shown }) => (
        <PreviewedDocument
          key={invoice}
          title={`Amends invoice ${number ?? ""}`}
          {...shown}
          was={subtotals.get(invoice)}
        />
      ))}
      {issuedInvoices.map((invoice, index) => (
        <PreviewedDocument
          key={String(index)}
          title={`Issues an invoice: ${(invoiceTypes[invoice.type] ?? "").toLowerCase()}`}
          sub={datesText(invoice)}
          lines={invoice.lines}
          currency={invoice.currency}
          subtotal={invoice.subtotal}
          explanation={invoice.explanation}
        />
      ))}
      {creditNotes.map((note, index) => (
        <PreviewedDocument
          key={String(index)}
          title="Issues a credit note"
          sub={`Dated ${dayText(note.creditNoteDate)}${note.overdue ? ", overdue" : ""}`}
          lines={note.lines}
          currency={note.currency}
          subtotal={note.subtotal}
          explanation={note.explanation}
        />
      ))}
      {deferredLines.map((line, index) => (
        <PreviewedDocument
          key={String(index)}
          title="Adds to the renewal invoice"
          lines={[line]}
          currency={currency}
          subtotal={line.amount}
        />
      ))}
    </>
  );
}

function datesText(invoice: SubscriptionPreview["issuedInvoices"][number]): string {
  const { issueDate, dueDate, overdue } = invoice;
  const due = dueDate === undefined ? "" : `, due ${dayText(dueDate)}`;
  return `Dated ${dayText(issueDate)}${due}${overdue ? ". It is overdue, and billed first" : ""}`;
}

const assumptionWords: Readonly<Record<number, string>> = {
  [PreviewAssumption.INVOICES_ACCEPTED]:
    "The ledger accepts the invoice that is still to be sent. If not, this is refused.",
  [PreviewAssumption.AMENDMENTS_ACCEPTED]:
    "The ledger still takes the amendment. If the invoice was paid, credited or removed there, " +
    "the change has a separate invoice.",
  [PreviewAssumption.REMOVALS_ACCEPTED]:
    "The ledger removes each invoice. If it refuses one that is paid or locked, the subscription " +
    "goes on.",
};

/** What only the ledger knows. */
function Assumptions({ assumptions }: Pick<SubscriptionPreview, "assumptions">) {
  if (assumptions.length === 0) return null;
  return (
    <div className={styles.assumptions}>
      <strong>Taken for granted, as only the ledger knows it</strong>
      {assumptions.map((each) => (
        <p key={each}>{assumptionWords[each] ?? "Something that this page does not know yet."}</p>
      ))}
    </div>
  );
}
