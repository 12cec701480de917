/**
 * Lists webhook deliveries for operators: the state of each event for each endpoint, with its
 * attempts. The list is SQL, because it joins the event and the endpoint's breaker. WEBHOOK-4.
 */

import { columns } from "../../../gen/columns.ts";
import type { WebhookAttempt } from "../../../gen/prisma/client.ts";
import { isId } from "../../database/ids.ts";
import {
  type Filter,
  filter,
  getOne,
  listing,
  listPage,
  type PageRequest,
} from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { int, pick, type RowOf, text, uuid } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import type { Actor, Changes } from "../changes.ts";
import { type EventsToResend, resendSince, type TestToSend } from "./resend-events.ts";
import { resendDelivery, sendTest } from "./send-by-hand.ts";

/** The state of a delivery. */
type DeliveryState = "pending" | "delivered" | "exhausted" | "cancelled";

const deliveryMembers = {
  ...pick(columns.webhookDelivery, "id", "endpointId", "eventId", "attempts", "beganAt"),
  ...pick(columns.webhookDelivery, "finishedAt", "createdAt"),
  state: columns.webhookDelivery.state.as<DeliveryState>(),
};

const deliveryRow = {
  ...deliveryMembers,
  eventType: text,
  objectId: uuid,
  lastStatus: int.orNull(),
  lastError: text.orNull(),
};

/** One event for one endpoint. */
export type DeliveryView = RowOf<typeof deliveryRow>;

/**
 * A request that was sent. `status` and `answer` are null if no answer came, `error` if it was
 * delivered.
 */
export type AttemptView = Omit<WebhookAttempt, "organisationId" | "deliveryId">;

/** A delivery with its last attempts, oldest first, and the body that is sent. */
export interface WholeDelivery extends DeliveryView {
  readonly tries: readonly AttemptView[];
  readonly body: string;
}

/** The filters of the list. An absent filter is not applied. */
interface DeliveryFilters {
  readonly endpoint?: string | undefined;
  readonly state: DeliveryState | null;
  readonly eventType?: string | undefined;
  readonly since: Date | null;
  readonly until: Date | null;
}

/** Creates the delivery store over changes. Null stands for no such delivery or endpoint. */
export function createDeliveryHistory(pool: Pool, { run }: Changes) {
  return {
    list: (organisationId: string, filters: DeliveryFilters, page: PageRequest) =>
      listPage(pool, organisationId, deliveries, conditions(filters), page),
    get: async (organisationId: string, id: string) => {
      const delivery = await getOne(pool, organisationId, deliveries, id);
      if (delivery === null) return null;
      const [tries, event] = await Promise.all([
        loadTries(pool, organisationId, delivery.id),
        db(pool).event.findFirst({
          where: { organisationId, id: delivery.eventId },
          select: { body: true },
        }),
      ]);
      // Between the two reads the event may have been deleted after 30 days.
      return { ...delivery, tries, body: event?.body ?? "" };
    },
    /**
     * Writes a test event with its delivery. A repeat with the same event id finds those of the
     * earlier try.
     */
    sendTest: async (actor: Actor, organisationId: string, test: TestToSend) =>
      isId(test.endpointId) ? run(actor, (tx) => sendTest(tx, organisationId, test)) : null,
    /** Makes a delivery pending again. */
    resend: async (actor: Actor, organisationId: string, id: string) =>
      isId(id) ? run(actor, (tx) => resendDelivery(tx, organisationId, id)) : null,
    /**
     * Makes all events of a time that the endpoint has not received pending again, due at once.
     */
    resendSince: async (actor: Actor, organisationId: string, events: EventsToResend) =>
      isId(events.endpointId) ? run(actor, (tx) => resendSince(tx, organisationId, events)) : null,
  };
}

function conditions(filters: DeliveryFilters): readonly Filter[] {
  const { endpoint, state, eventType, since, until } = filters;
  return [
    ...filter(sql`t.endpoint_id = ?`, endpoint),
    ...filter(state === "delivered" ? isState : isOtherState, state),
    ...filter(sql`e.type = ?`, eventType),
    ...filter(sql`t.created_at >= ?`, since),
    ...filter(sql`t.created_at < ?`, until),
  ];
}

// The planner does not read a parameter. Nearly all deliveries are delivered, and an index has the
// others.
const isState = sql`t.state = ?`;
const isOtherState = sql`t.state = ? AND t.state <> 'delivered'`;

const isHeld = sql`t.state = 'pending' AND t.due_at <= now() AND w.status = 'enabled'
  AND w.open_until IS NOT NULL`;

const deliveries = listing(
  "webhook_deliveries",
  {
    table: sql`webhook_deliveries`,
    // A delivery held back by an open breaker shows that as its error. The error is computed here
    // and not stored.
    columns: sql`${columnsOf(sql`t`, deliveryMembers)}, e.type AS event_type, e.object_id,
      CASE WHEN ${isHeld} THEN NULL ELSE t.last_status END AS last_status,
      CASE WHEN ${isHeld} THEN 'not sent: the endpoint failed ' || w.failures || ' times in a row'
        ELSE t.last_error END AS last_error`,
    row: deliveryRow,
    from: sql`webhook_deliveries t
      JOIN events e ON e.organisation_id = t.organisation_id AND e.id = t.event_id
      JOIN webhook_endpoints w ON w.organisation_id = t.organisation_id AND w.id = t.endpoint_id`,
    read: (row): DeliveryView => row,
  },
  conditions({
    ...{ endpoint: "", state: "pending", eventType: "" },
    ...{ since: new Date(0), until: new Date(0) },
  }),
);

/** Shows the last attempts only. Repeated resends create more attempts than a person reads. */
const triesShown = 100;

async function loadTries(
  pool: Pool,
  organisationId: string,
  deliveryId: string,
): Promise<readonly AttemptView[]> {
  const tries = await db(pool).webhookAttempt.findMany({
    where: { organisationId, deliveryId },
    orderBy: { number: "desc" },
    take: triesShown,
    omit: { organisationId: true, deliveryId: true },
  });
  return tries.reverse();
}
