/** What each subscription of a customer bills next, and what all of that comes to. */
import { createQueryOptions, useQuery, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { addMonths, civilDate } from "../../../../../src/domain/calendar/civil-date.ts";
import { isNotFound } from "../../data/failure.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { Disclosure } from "../../design/page/disclosure.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { type Fact, FactRow } from "../../design/page/facts.tsx";
import { Section, Skeleton } from "../../design/page/page.tsx";
import { Named } from "../../design/table/named.tsx";
import table from "../../design/table/table.module.css";
import { awayText, daysBetween, dayText } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { UpcomingInvoice } from "../../gen/billing/v1/previews_pb.ts";
import { type Subscription, SubscriptionStatus } from "../../gen/billing/v1/subscriptions_pb.ts";
import { usePlan } from "../catalogue/plan-name.tsx";
import { sumOf } from "../now/figures.ts";

/** The subscriptions whose next invoice is read: each is reckoned when it is asked for. */
const maxRead = 20;

/** The rows that are shown at once. More of them are behind a disclosure. */
const maxShown = 5;

/** A subscription with its next invoice, absent if there will be none. */
interface Row {
  readonly subscription: Subscription;
  readonly date: string;
  readonly invoice: UpcomingInvoice | undefined;
  /** Whether its answer failed, such as while an end waits for the ledger. */
  readonly isUnknown: boolean;
}

/** Shows them, the soonest first. */
export function NextInvoices({ customer }: { readonly customer: string }) {
  const { id: organisation } = useOrganisation();
  const request = { organisation, customer, limit: 100 };
  const list = useQuery(SubscriptionService.method.listSubscriptions, request);
  const running = list.data?.data.filter(
    ({ status }) => status === SubscriptionStatus.ACTIVE || status === SubscriptionStatus.PENDING,
  );
  const rows = useRows(running?.slice(0, maxRead));
  const isPart = list.data?.hasMore || (running ?? []).length > maxRead;
  return (
    <Section
      title="Next invoices"
      beside={
        <span className="muted">
          {isPart && rows ? `Of the first ${rows.length} that run, before tax` : "Before tax"}
        </span>
      }
    >
      {list.error ? (
        <ErrorState error={list.error} onAgain={() => void list.refetch()} />
      ) : rows === undefined ? (
        <Skeleton />
      ) : rows.length === 0 ? (
        <p className="muted">None: no subscription runs.</p>
      ) : (
        <>
          <Sums rows={rows} />
          {rows.length > maxShown ? (
            <Disclosure title={`The ${rows.length} subscriptions`}>
              <Rows rows={rows} />
            </Disclosure>
          ) : (
            <Rows rows={rows} />
          )}
        </>
      )}
    </Section>
  );
}

/** Reads the next invoice of each. Undefined until all are there. */
function useRows(subscriptions: readonly Subscription[] | undefined): readonly Row[] | undefined {
  const { id: organisation } = useOrganisation();
  const transport = useTransport();
  const schema = SubscriptionService.method.getUpcomingInvoice;
  const answers = useQueries({
    queries: (subscriptions ?? []).map(({ id }) => ({
      ...createQueryOptions(schema, { organisation, id }, { transport }),
      staleTime: 60_000,
    })),
  });
  if (answers.some(({ isPending }) => isPending)) return undefined;
  return subscriptions
    ?.map((subscription, index): Row => {
      const { data, error = null } = answers[index] ?? {};
      const invoice = data?.upcomingInvoice;
      const date = invoice?.renewalDate ?? subscription.renewalDate;
      return { subscription, date, invoice, isUnknown: error !== null && !isNotFound(error) };
    })
    .toSorted((a, b) => (a.date < b.date ? -1 : 1));
}

/** A subscription bills at most once in the month after today, so that its sum is whole. */
function Sums({ rows }: { readonly rows: readonly Row[] }) {
  const { today } = useOrganisation();
  const end = addMonths(civilDate(today), 1);
  const unknown = rows.filter(({ isUnknown }) => isUnknown).length;
  const sums = [
    [`Until ${dayText(end)}`, rows.filter(({ date }) => date <= end)],
    ["Later", rows.filter(({ date }) => date > end)],
  ] as const;
  const facts = sums.flatMap(([name, some]) => {
    const { values } = sumOf(
      some.flatMap(({ invoice }) =>
        invoice ? [{ count: 1, values: [{ ...invoice, amount: invoice.subtotal }] }] : [],
      ),
    );
    return values.map(
      ({ currency, amount }): Fact => [
        name,
        <Money key={currency} amount={amount} currency={currency} />,
      ],
    );
  });
  return <FactRow facts={unknown === 0 ? facts : [...facts, ["Not known yet", `of ${unknown}`]]} />;
}

function Rows({ rows }: { readonly rows: readonly Row[] }) {
  const { id: organisation, today } = useOrganisation();
  return (
    <div className={table.frame}>
      <table className={table.table}>
        <caption className="unseen">Next invoices</caption>
        <thead>
          <tr>
            <th scope="col">Subscription</th>
            <th scope="col" className={table.numeric}>
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ subscription: { id, label, plan }, date, invoice, isUnknown }) => (
            <tr key={id}>
              <td>
                <Link
                  to="/o/$organisation/subscriptions/$id"
                  params={{ organisation, id }}
                  className={table.link}
                >
                  <Named name={label || id.slice(0, 8)} sub={<PlanWords id={plan} />} />
                </Link>
              </td>
              <td className={table.numeric}>
                <Named
                  name={
                    invoice ? (
                      <Money amount={invoice.subtotal} currency={invoice.currency} />
                    ) : isUnknown ? (
                      "not known yet"
                    ) : (
                      "none"
                    )
                  }
                  sub={`${dayText(date)}, ${
                    invoice?.issued ? "issued already" : awayText(daysBetween(today, date))
                  }`}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const PlanWords = ({ id }: { readonly id: string }) => usePlan(id)?.name ?? "…";
