/**
 * Webhook endpoints, events, deliveries and their failures, inserted by SQL as the relay leaves
 * them.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { eventBody } from "../../src/domain/events/event.ts";
import type { Encryption } from "../../src/store/database/encryption.ts";
import { endpointSecretBound } from "../../src/store/events/deliveries.ts";
import type { DueDelivery } from "../../src/store/events/due-endpoints.ts";
import { newSecret } from "../../src/webhooks/sign.ts";
import { addOrganisation } from "./organisation-builder.ts";

/** An endpoint, and the secret that signs for it. */
export interface SeededEndpoint {
  readonly id: string;
  readonly organisationId: string;
  readonly secret: string;
}

/** A delivery, and the body of its event. */
export interface SeededDelivery extends DueDelivery {
  readonly body: string;
}

/** Creates endpoints and what is to be delivered to them. */
export interface WebhookBuilder {
  organisation(): Promise<string>;
  endpoint(organisationId: string, url: string): Promise<SeededEndpoint>;
  /** Gives the endpoint another secret; the one before signs as well for so many seconds. */
  rotate(endpoint: SeededEndpoint, forSeconds: number): Promise<string>;
  /** As many events, each to be delivered to each of the endpoints: due now, or in two minutes. */
  events(
    endpoints: readonly SeededEndpoint[],
    count: number,
    due?: "now" | "later",
  ): Promise<readonly SeededDelivery[]>;
}

/** The builder over a pool; `encryption` is the workers'. */
export function webhookBuilder(pool: pg.Pool, encryption: Encryption): WebhookBuilder {
  const encrypt = (endpointId: string, secret: string) =>
    encryption.encrypt(secret, endpointSecretBound(endpointId));
  return {
    organisation: () => addOrganisation(pool),
    endpoint: async (organisationId, url) => {
      const [id, secret] = [randomUUID(), newSecret()];
      const { bytes, keyId } = encrypt(id, secret);
      await pool.query(
        `INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, encrypted_secret,
          encryption_key_id) VALUES ($1, $2, $3, '{}', $4, $5)`,
        [id, organisationId, url, bytes, keyId],
      );
      return { id, organisationId, secret };
    },
    rotate: async ({ id }, forSeconds) => {
      const secret = newSecret();
      const { bytes, keyId } = encrypt(id, secret);
      await pool.query(
        `UPDATE webhook_endpoints SET encrypted_previous = encrypted_secret, previous_key_id =
          encryption_key_id,
          previous_until = now() + $2 * interval '1 second', encrypted_secret = $3,
            encryption_key_id = $4 WHERE id = $1`,
        [id, forSeconds, bytes, keyId],
      );
      return secret;
    },
    events: (endpoints, count, due = "now") => addEvents(pool, endpoints, count, due),
  };
}

async function addEvents(
  pool: pg.Pool,
  endpoints: readonly SeededEndpoint[],
  count: number,
  due: "now" | "later",
): Promise<readonly SeededDelivery[]> {
  const organisationId = endpoints[0]?.organisationId ?? "";
  const objectId = randomUUID();
  const events = Array.from({ length: count }, (_, index) => {
    const id = randomUUID();
    const object = `{"id":"${objectId}","object":"customer","name":"Zoë ${index}"}`;
    const own = {
      id,
      type: "customer.updated",
      livemode: true,
      sequence: BigInt(index + 1),
      object,
    } as const;
    return {
      id,
      body: eventBody({ ...own, createdAt: new Date(), previousAttributes: `{"name":"Zoe"}` }),
    };
  });
  const deliveries = events.flatMap(({ id: eventId, body }) =>
    endpoints.map(({ id: endpointId }) => ({
      organisationId,
      deliveryId: randomUUID(),
      eventId,
      endpointId,
      body,
    })),
  );
  await pool.query(
    `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
      SELECT id, $1, 'customer.updated', 'customer', $2, row_number() OVER (), body
        FROM unnest($3::uuid[], $4::text[]) AS e(id, body)`,
    [organisationId, objectId, events.map(({ id }) => id), events.map(({ body }) => body)],
  );
  await pool.query(
    `INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id, due_at)
      SELECT id, $1, event_id, endpoint_id, now() + $5 * interval '2 minutes'
        FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS d(id, event_id, endpoint_id)`,
    [
      organisationId,
      deliveries.map(({ deliveryId }) => deliveryId),
      deliveries.map(({ eventId }) => eventId),
      deliveries.map(({ endpointId }) => endpointId),
      due === "later" ? 1 : 0,
    ],
  );
  return deliveries;
}

/**
 * Adds an endpoint without a usable secret, for tests that deliver nothing. Returns its id.
 */
export async function addEndpoint(
  pool: pg.Pool,
  organisationId: string,
  kinds: readonly string[] = [],
  status: "enabled" | "disabled" = "enabled",
): Promise<string> {
  const id = randomUUID();
  await pool.query(
    `INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, status, disabled_at,
        disabled_reason, encrypted_secret, encryption_key_id)
      VALUES ($1, $2, 'https://hooks.example.com', $3, $4,
        CASE $4 WHEN 'disabled' THEN now() END, CASE $4 WHEN 'disabled' THEN 'By hand' END,
        '\\x00', 'key')`,
    [id, organisationId, kinds, status],
  );
  return id;
}

/** Inserts an event that was published this many days ago. Returns its id. Oldest first. */
export async function addEvent(
  pool: pg.Pool,
  organisationId: string,
  type: string,
  daysAgo: number,
): Promise<string> {
  const id = randomUUID();
  const [kind] = type.split(".");
  await pool.query(
    `INSERT INTO events
    (id, organisation_id, type, object_kind, object_id, sequence, body, created_at)
     VALUES ($1, $2, $3, $4, $5, 1, '{}', now() - $6 * interval '1 day')`,
    [id, organisationId, type, kind, randomUUID(), daysAgo],
  );
  return id;
}

/** A delivery in this state, whose attempts began a day ago; its id. */
export async function addDelivery(
  pool: pg.Pool,
  organisationId: string,
  eventId: string,
  endpointId: string,
  state: string,
): Promise<string> {
  const id = randomUUID();
  const instants = state === "pending" ? "now(), NULL" : "NULL, now()";
  await pool.query(
    `INSERT INTO webhook_deliveries
       (id, organisation_id, event_id, endpoint_id, state, attempts,
       last_status, began_at, due_at, finished_at)
     VALUES ($1, $2, $3, $4, $5, 1, 500, now() - interval '1 day', ${instants})`,
    [id, organisationId, eventId, endpointId, state],
  );
  return id;
}

/** An endpoint as after six attempts that failed. */
export async function failing(pool: pg.Pool, endpointId: string): Promise<void> {
  await pool.query(
    "UPDATE webhook_endpoints SET failures = 6, failing_since = now()," +
      " open_until = now() + interval '1 minute' WHERE id = $1",
    [endpointId],
  );
}

/** The stored secrets of an endpoint, newest first. */
export async function openSecrets(
  pool: pg.Pool,
  encryption: Encryption,
  endpointId: string,
): Promise<readonly string[]> {
  const { rows } = await pool.query("SELECT * FROM webhook_endpoints WHERE id = $1", [endpointId]);
  const [row] = rows;
  const open = (bytes: Buffer, keyId: string) =>
    encryption.decrypt({ bytes, keyId }, endpointSecretBound(endpointId));
  const previous =
    row.encrypted_previous === null ? [] : [open(row.encrypted_previous, row.previous_key_id)];
  return [open(row.encrypted_secret, row.encryption_key_id), ...previous];
}
