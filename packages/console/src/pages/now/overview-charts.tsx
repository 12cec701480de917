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
  { label: "due", tone: "accent" },
  { label: "failed", tone: "bad" },
] as const;

/** Renewals from 30 days before today to 30 days after it. */
export function RenewalsChart({ of }: { readonly of: GetOverviewResponse }) {
  const { id: organisation, today: now } = useOrganisation();
  const today = civilDate(of.today ?? now);
  const byDay = new Map(of.renewals.map((day) => [day.date, day]));
  const bars = Array.from({ length: 61 }, (_, index) => {
    const date = addDays(today, index - 30);
    const { billed, due, failed } = byDay.get(date) ?? {};
    const figures = [billed?.count ?? 0, due?.count ?? 0, failed?.count ?? 0];
    const isEmpty = figures.every((figure) => figure === 0);
    const to = isEmpty ? undefined : listOf(organisation, date, index >= 30);
    return { name: dayText(date), figures, isNow: index === 30, to };
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

/** What was billed on a day is listed by its invoices, what is due by its subscriptions. */
function listOf(organisation: string, date: string, isDue: boolean): LinkProps {
  const params = { organisation };
  return isDue
    ? {
        to: "/o/$organisation/subscriptions",
        params,
        search: { status: "active", renewal_from: date, renewal_to: date },
      }
    : { to: "/o/$organisation/invoices", params, search: { issued_from: date, issued_to: date } };
}
