/** The columns of deliveries. */
import type { Column } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import type { WebhookDelivery } from "../../gen/billing/admin/v1/webhooks_pb.ts";
import { deliveryStates, wordsOf } from "../../words/states.ts";

/** What the receiver answered, or why there was no answer. */
export function answerText(status: number | undefined, error: string | undefined): string {
  return status === undefined ? (error ?? "no answer yet") : `HTTP ${status}`;
}

/** The columns of deliveries. */
export const deliveryColumns: readonly Column<WebhookDelivery>[] = [
  { title: "Event", cell: ({ eventType, event }) => <Named name={eventType} sub={event} /> },
  { title: "State", cell: ({ state }) => <State {...wordsOf(deliveryStates, state)} /> },
  {
    title: "Last answer",
    cell: ({ lastStatus, lastError }) => answerText(lastStatus, lastError),
    from: "tablet",
  },
  { title: "Attempts", cell: ({ attempts }) => grouped(attempts), isNumber: true, from: "desktop" },
  { title: "Created", cell: ({ created }) => <Instant at={created} />, from: "desktop" },
];
