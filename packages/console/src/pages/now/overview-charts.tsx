/** The chart of the overview: renewals by day. */
import { Link, type LinkProps } from "@tanstack/react-router";
import { addDays, civilDate } from "../../../../../src/domain/calendar/civil-date.ts";
import { Bars } from "../../charts/bars.tsx";
import { useOrganisation } from "../../data/organisation.tsx";
import { Section } from "../../design/page/page.tsx";
import { dayText } from "../../design/values/instant.tsx";
import type { GetOverviewResponse } from "../../gen/billing/admin/v1/overview_pb.ts";

const kinds = [
  { label: "billed", tone: "ok" },
  { label: "failed", tone: "bad" },
  { label: "due", tone: "accent" },
] as const;

/** Renewals from 30 days before today to 30 days after it. */
export function RenewalsChart({ of }: { readonly of: GetOverviewResponse }) {
  const { id: organisation, today: now } = useOrganisation();
  const today = civilDate(of.today ?? now);
  const byDay = new Map(of.renewals.map((day) => [day.date, day]));
  const bars = Array.from({ length: 61 }, (_, index) => {
    const date = addDays(today, index - 30);
    const { billed, due, failed } = byDay.get(date) ?? {};
    const figures = [billed?.count ?? 0, failed?.count ?? 0, due?.count ?? 0];
    const of = { params: { organisation }, search: { renewal_from: date, renewal_to: date } };
    const invoices: LinkProps = { to: "/o/$organisation/invoices", ...of };
    const subscriptions: LinkProps = {
      to: "/o/$organisation/subscriptions",
      params: of.params,
      search: { status: "active", ...of.search },
    };
    const lists = [invoices, invoices, subscriptions];
    return { name: dayText(date), figures, isNow: index === 30, lists };
  });
  return (
    <Section
      title="Renewals by day"
      beside={
        <Link to="/o/$organisation/calendar" params={{ organisation }}>
          Calendar
        </Link>
      }
    >
      <Bars
        title="Renewals by day"
        kinds={kinds}
        bars={bars}
        ends={[bars[0]?.name ?? "", bars.at(-1)?.name ?? ""]}
      />
    </Section>
  );
}
