/** What an act tells the platform: its events by kind, and those that no endpoint is sent. */
import { useQuery } from "@connectrpc/connect-query";
import styles from "../../../act/changes.module.css";
import { useOrganisation } from "../../../data/organisation.tsx";
import { grouped } from "../../../design/values/money.tsx";
import type { PreviewedEvents } from "../../../gen/billing/admin/v1/subscription_previews_pb.ts";
import {
  WebhookEndpointStatus,
  WebhookService,
} from "../../../gen/billing/admin/v1/webhooks_pb.ts";

/** Shows the events. */
export function Events({ events }: { readonly events: readonly PreviewedEvents[] }) {
  const { id: organisation } = useOrganisation();
  const { data: endpoints } = useQuery(WebhookService.method.listWebhookEndpoints, {
    organisation,
    status: WebhookEndpointStatus.ENABLED,
  });
  if (events.length === 0) return <p className={styles.nothing}>The platform is told nothing.</p>;
  const isUnheard = ({ type }: PreviewedEvents) =>
    endpoints?.data.every(({ kinds }) => kinds.length > 0 && !kinds.includes(type)) ?? false;
  const isSilent = events.every(isUnheard);
  return (
    <section className={styles.events} aria-label="Events">
      <strong>The platform is told</strong>
      <ul>
        {events.map((event) => (
          <li key={event.type}>
            <code>{event.type}</code>
            {event.count > 1 && ` × ${grouped(event.count)}`}
            {!isSilent && isUnheard(event) && <span className="muted">, to no endpoint</span>}
          </li>
        ))}
      </ul>
      {isSilent && <p className="muted">No endpoint is sent them. The platform can list them.</p>}
      {events.some(({ type }) => !type.startsWith("subscription.")) && (
        <p className="muted">Payments and the use of credit are told when they come.</p>
      )}
    </section>
  );
}
