/**
 * The fixture of deliveries without Temporal: a database, a receiver, and attempts whose pauses are
 * not shortened at random.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type pg from "pg";
import { test } from "vitest";
import { defaultFirstPauseMs, wholeTimeMs } from "../../../src/domain/events/retry-schedule.ts";
import { createEncryption, type Encryption } from "../../../src/store/database/encryption.ts";
import { createDeliveryStore } from "../../../src/store/events/deliveries.ts";
import type { Attempt, RecordedAttempts } from "../../../src/store/events/delivery-attempts.ts";
import type { EndpointKey } from "../../../src/store/events/due-endpoints.ts";
import { createPoster } from "../../../src/webhooks/post.ts";
import {
  createDelivery,
  type DeliveryActivities,
} from "../../../src/worker/activities/events/deliver-due.ts";
import { createRequestPermits } from "../../../src/worker/activities/events/delivery-pace.ts";
import type { DeliverParts } from "../../../src/worker/activities/events/sending.ts";
import type { DeliveryBatches } from "../../../workflows/contract.ts";
import { freshDatabase } from "../../support/database.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { testPool } from "../../support/pool.ts";
import {
  type SeededDelivery,
  type SeededEndpoint,
  type WebhookBuilder,
  webhookBuilder,
} from "../../support/webhook-builder.ts";
import { startReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";

/** An endpoint with its path, and deliveries to it. `delivery` is the first. */
interface Waiting {
  readonly path: string;
  readonly endpoint: SeededEndpoint;
  readonly key: EndpointKey;
  readonly deliveries: readonly SeededDelivery[];
  readonly delivery: SeededDelivery;
}

/**
 * A row of `webhook_deliveries` or `webhook_endpoints`. `in_ms` is the time until its `due_at` or
 * `open_until`.
 */
type WebhookRow = Readonly<Record<string, unknown>>;

/** Deliveries over one database and one receiver. */
export interface DeliveryFixture {
  readonly pool: pg.Pool;
  readonly rows: WebhookBuilder;
  readonly receiver: WebhookReceiver;
  readonly organisationId: string;
  readonly deliver: DeliveryActivities;
  /** The reports on endpoints: `ID is disabled: REASON`, `ID is undecryptable`. */
  readonly reports: readonly string[];
  /** The dependencies of another process, with its permits. */
  parts(encryption?: Encryption): DeliverParts;
  waiting(count?: number): Promise<Waiting>;
  /** Makes a delivery due now, and delivers what is due to its endpoint. */
  attempt(delivery: SeededDelivery, by?: DeliveryActivities): Promise<DeliveryBatches>;
  /** Records an attempt that was under way, by default at the endpoint's URL. */
  record(
    delivery: SeededDelivery,
    attempt: Partial<Attempt & { readonly url: string }>,
  ): Promise<RecordedAttempts>;
  deliveryRow(delivery: SeededDelivery): Promise<WebhookRow>;
  endpointRow(endpoint: SeededEndpoint): Promise<WebhookRow>;
  attemptsOf(delivery: SeededDelivery): Promise<readonly WebhookRow[]>;
  changeDelivery(delivery: SeededDelivery, assignments: string): Promise<unknown>;
  changeEndpoint(endpoint: SeededEndpoint, assignments: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Matches a number of milliseconds that may have decreased since. */
export const about = (ms: number) => ({
  asymmetricMatch: (value: number) => value <= ms && value > ms - 60_000,
});

/** Matches an instant of the last minute, as a row has it. */
export const justNow = {
  asymmetricMatch: (value: unknown) =>
    value instanceof Date && Date.now() - value.getTime() < 60_000,
};

/** Creates the fixture. */
export async function createDeliveryFixture(): Promise<DeliveryFixture> {
  const database = await freshDatabase();
  const pool = testPool(database.url, 8);
  const ownEncryption = createEncryption(randomBytes(32));
  const rows = webhookBuilder(pool, ownEncryption);
  const receiver = await startReceiver();
  // A machine that stands still for a second does not change the result.
  const poster = createPoster({ mode: "development", restMs: 15_000 });
  const organisationId = await rows.organisation();
  const reports: string[] = [];
  const parts = (encryption = ownEncryption): DeliverParts => ({
    store: createDeliveryStore(pool, encryption),
    poster,
    permits: createRequestPermits(),
    firstPauseMs: defaultFirstPauseMs,
    onDisabled: ({ endpointId }, reason) => reports.push(`${endpointId} is disabled: ${reason}`),
    onUndecryptable: ({ endpointId }) => reports.push(`${endpointId} is undecryptable`),
    random: () => 0,
  });
  const deliver = createDelivery(parts());
  const changeDelivery = ({ deliveryId }: SeededDelivery, assignments: string) =>
    pool.query(`UPDATE webhook_deliveries SET ${assignments} WHERE id = $1`, [deliveryId]);
  return {
    pool,
    rows,
    receiver,
    organisationId,
    deliver,
    reports,
    parts,
    waiting: async (count = 1) => {
      const path = `/${randomUUID()}`;
      const endpoint = await rows.endpoint(organisationId, receiver.url(path));
      const deliveries = await rows.events([endpoint], count);
      const [delivery] = deliveries;
      if (delivery === undefined) throw new Error("there is no delivery");
      return {
        path,
        endpoint,
        key: { organisationId, endpointId: endpoint.id },
        deliveries,
        delivery,
      };
    },
    attempt: async (delivery, by = deliver) => {
      await changeDelivery(delivery, "due_at = now(), claimed_until = NULL");
      return by.deliverDue(delivery);
    },
    record: async (delivery, { url, ...attempt }) => {
      const row = await rowOf(pool, "webhook_deliveries", "due_at", delivery.deliveryId);
      const endpoint = await rowOf(pool, "webhook_endpoints", "open_until", delivery.endpointId);
      const own = {
        deliveryId: delivery.deliveryId,
        beganAt: String(row.began_text),
        claimedUntil: String(row.began_text),
        agoMs: 0,
        latencyMs: 1.4,
        status: 200,
        error: null,
        answer: "",
        verdict: "delivered" as const,
        pauseMs: 1,
        restarts: false,
      };
      return createDeliveryStore(pool, ownEncryption).record(delivery, {
        attempts: [{ ...own, ...attempt }],
        url: url ?? String(endpoint.url),
        isProbe: false,
        breakerSteps: [0, 0, 0, 0, 60_000],
        wholeMs: wholeTimeMs(defaultFirstPauseMs),
      });
    },
    deliveryRow: ({ deliveryId }) => rowOf(pool, "webhook_deliveries", "due_at", deliveryId),
    endpointRow: ({ id }) => rowOf(pool, "webhook_endpoints", "open_until", id),
    attemptsOf: async ({ deliveryId }) => {
      const text = `SELECT number, status, error, answer, latency_ms, at FROM webhook_attempts
        WHERE delivery_id = $1 ORDER BY number`;
      return (await pool.query(text, [deliveryId])).rows;
    },
    changeDelivery,
    changeEndpoint: ({ id }, assignments) =>
      pool.query(`UPDATE webhook_endpoints SET ${assignments} WHERE id = $1`, [id]),
    stop: async () => {
      await poster.close();
      await receiver.stop();
      await pool.end();
      await database.drop();
    },
  };
}

async function rowOf(
  pool: pg.Pool,
  table: string,
  column: string,
  id: string,
): Promise<WebhookRow> {
  const began = table === "webhook_deliveries" ? ", began_at::text AS began_text" : "";
  const text = `SELECT *, (1000 * extract(epoch FROM ${column} - now()))::int AS in_ms${began}
    FROM ${table} WHERE id = $1`;
  return (await pool.query(text, [id])).rows[0];
}

/** Tests of deliveries, on one database and one receiver. */
export const deliveryTest = test.extend(
  "fixture",
  perFile,
  started(createDeliveryFixture, (fixture) => fixture.stop()),
);
