/** The charts of the overview: renewals by day, and accepted usage by hour. */
import { addDays, civilDate } from "../../../../../src/domain/calendar/civil-date.ts";
import { Bars } from "../../charts/bars.tsx";
import { useOrganisation } from "../../data/organisation.tsx";
import { Section } from "../../design/page/page.tsx";
import { dayOf, dayText, timeText } from "../../design/values/instant.tsx";
import type { GetOverviewResponse } from "../../gen/billing/admin/v1/overview_pb.ts";

const kinds = [
  { label: "billed", tone: "ok" },
  { label: "due", tone: "accent" },
  { label: "failed", tone: "bad" },
] as const;

/** Renewals from 30 days before today to 30 days after it. */
export function RenewalsChart({ of }: { readonly of: GetOverviewResponse }) {
  const { today: now } = useOrganisation();
  const today = civilDate(of.today ?? now);
  const byDay = new Map(of.renewals.map((day) => [day.date, day]));
  const bars = Array.from({ length: 61 }, (_, index) => {
    const date = addDays(today, index - 30);
    const { billed, due, failed } = byDay.get(date) ?? {};
    const figures = [billed?.count ?? 0, due?.count ?? 0, failed?.count ?? 0];
    return { name: dayText(date), figures, isNow: index === 30 };
  });
  return (
    <Section title="Renewals by day">
      <Bars
        title="Renewals by day"
        kinds={kinds}
        bars={bars}
        ends={[bars[0]?.name ?? "", bars.at(-1)?.name ?? ""]}
      />
    </Section>
  );
}

const hourMs = 3_600_000;

/** Usage events of the last 48 hours. */
export function UsageChart({ of }: { readonly of: GetOverviewResponse }) {
  const { timezone } = useOrganisation();
  const byHour = new Map(of.usageHours.map(({ hour, events }) => [Date.parse(hour), events]));
  const last = Math.floor(Date.now() / hourMs) * hourMs;
  const bars = Array.from({ length: 48 }, (_, index) => {
    const ms = last - (47 - index) * hourMs;
    const at = new Date(ms).toISOString();
    const name = `${dayText(dayOf(at, timezone))}, ${timeText(at, timezone)}`;
    return { name, figures: [Number(byHour.get(ms) ?? 0)] };
  });
  return (
    <Section title="Usage events by hour">
      <Bars
        title="Usage events by hour"
        kinds={[{ label: "events", tone: "accent" }]}
        bars={bars}
        ends={[bars[0]?.name ?? "", "now"]}
      />
    </Section>
  );
}
