/** The present period as a bar: its start, today, and its renewal. */
import { addMonths, civilDate } from "../../../../../src/domain/calendar/civil-date.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { Day, daysBetween, dayText } from "../../design/values/instant.tsx";
import type { Subscription } from "../../gen/billing/v1/subscriptions_pb.ts";
import styles from "./subscription.module.css";

/** Shows where today is in the period. */
export function PeriodBar({ subscription }: { readonly subscription: Subscription }) {
  const { today, whole } = useOrganisation();
  const { renewalDate, interval, startDate } = subscription;
  const before = addMonths(civilDate(renewalDate), -(interval?.count ?? 1));
  const start = before < startDate ? startDate : before;
  const all = daysBetween(start, renewalDate);
  const gone = Math.min(Math.max(daysBetween(start, today), 0), all);
  const share = (days: number) => `${(100 * days) / Math.max(all, 1)}%`;
  const window = Math.min(whole.invoiceCreateDays, all);
  const days = all - gone;
  return (
    <figure className={styles.period}>
      <div className={styles.bar}>
        <div className={styles.gone} style={{ width: share(gone) }} />
        {window > 0 && (
          <div
            className={styles.window}
            style={{ width: share(window) }}
            title={`The renewal is invoiced from ${window} days before it`}
          />
        )}
      </div>
      <figcaption>
        <Day date={start} />
        <span title={dayText(today)}>
          {days === 0 ? "renews today" : `day ${gone + 1} of ${all}`}
        </span>
        <Day date={renewalDate} />
      </figcaption>
    </figure>
  );
}
