/** Deliveries of events without an engine: a database, a receiver, and attempts whose pauses chance takes nothing off. */
import { randomBytes, randomUUID } from "node:crypto";
import { ApplicationFailure } from "@temporalio/common";
import type pg from "pg";
import { expect } from "vitest";
import { createDelivery, type DeliverParts, type DeliveryActivities } from "../../src/activities/deliver.ts";
import { createEndpointTurns } from "../../src/activities/endpoint-turns.ts";
import { createDeliveryStore } from "../../src/store/deliveries.ts";
import type { AttemptRecord } from "../../src/store/delivery-attempts.ts";
import { createSealing, type Sealing } from "../../src/store/sealing.ts";
import { createPoster } from "../../src/webhooks/post.ts";
import { freshDatabase } from "../support/database.ts";
import { testPool } from "../support/pool.ts";
import { startReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { type MadeDelivery, type MadeEndpoint, type WebhookRows, webhookRows } from "../support/webhook-rows.ts";

/** An endpoint at a path of its own, and deliveries to it; `delivery` is the first. */
export interface Waiting {
  readonly path: string;
  readonly endpoint: MadeEndpoint;
  readonly deliveries: readonly MadeDelivery[];
  readonly delivery: MadeDelivery;
}

/** What an attempt threw: the next one is to come in `nextMs`. */
export interface Thrown {
  readonly type: string | null | undefined;
  readonly message: string;
  readonly nextMs: number;
}

/** A row of `webhook_deliveries` or `webhook_endpoints`; `in_ms` is how far off its `due_at` or `open_until` is. */
export type WebhookRow = Readonly<Record<string, unknown>>;

/** The world of these tests. */
export interface DeliveryWorld {
  readonly pool: pg.Pool;
  readonly rows: WebhookRows;
  readonly receiver: WebhookReceiver;
  readonly organisationId: string;
  readonly deliver: DeliveryActivities;
  /** What was told of endpoints: `ID is disabled: REASON`, `ID is sealed`. */
  readonly told: readonly string[];
  /** A process of its own, with turns of its own. */
  parts(sealing?: Sealing): DeliverParts;
  waiting(count?: number): Promise<Waiting>;
  failed(delivery: MadeDelivery, by?: DeliveryActivities): Promise<Thrown>;
  /** An attempt that was under way and is written now; it was sent to where the endpoint is. */
  record(delivery: MadeDelivery, attempt: Partial<AttemptRecord>): ReturnType<DeliverParts["store"]["record"]>;
  deliveryRow(delivery: MadeDelivery): Promise<WebhookRow>;
  endpointRow(endpoint: MadeEndpoint): Promise<WebhookRow>;
  attemptsOf(delivery: MadeDelivery): Promise<readonly WebhookRow[]>;
  changeDelivery(delivery: MadeDelivery, assignments: string): Promise<unknown>;
  changeEndpoint(endpoint: MadeEndpoint, assignments: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** A number of milliseconds that may be somewhat less by now. */
export const about = (ms: number) => ({ asymmetricMatch: (value: number) => value <= ms && value > ms - 60_000 });

/** An instant of this last minute, as a row has it. */
export const justNow = {
  asymmetricMatch: (value: unknown) => value instanceof Date && Date.now() - value.getTime() < 60_000,
};

/** Starts it. */
export async function deliveryWorld(): Promise<DeliveryWorld> {
  const database = await freshDatabase();
  const pool = testPool(database.url, 8);
  const ownSealing = createSealing(randomBytes(32));
  const rows = webhookRows(pool, ownSealing);
  const receiver = await startReceiver();
  // What is said of answers holds also where this machine stands still for a second.
  const poster = createPoster({ mode: "development", restMs: 15_000 });
  const organisationId = await rows.organisation();
  const told: string[] = [];
  const parts = (sealing = ownSealing): DeliverParts => ({
    store: createDeliveryStore(pool, sealing),
    poster,
    turns: createEndpointTurns(),
    onDisabled: (_, endpointId, reason) => told.push(`${endpointId} is disabled: ${reason}`),
    onSealed: (_, endpointId) => told.push(`${endpointId} is sealed`),
    random: () => 0,
  });
  const deliver = createDelivery(parts());
  return {
    pool,
    rows,
    receiver,
    organisationId,
    deliver,
    told,
    parts,
    waiting: async (count = 1) => {
      const path = `/${randomUUID()}`;
      const endpoint = await rows.endpoint(organisationId, receiver.url(path));
      const deliveries = await rows.events([endpoint], count);
      const [delivery] = deliveries;
      if (delivery === undefined) throw new Error("there is no delivery");
      return { path, endpoint, deliveries, delivery };
    },
    failed: async (delivery, by = deliver) => {
      const thrown = await by.attemptDelivery(delivery).catch((error: unknown) => error);
      if (!(thrown instanceof ApplicationFailure)) throw new Error(`it did not fail: ${String(thrown)}`);
      expect(thrown.nonRetryable).toBe(false);
      return { type: thrown.type, message: thrown.message, nextMs: Number(thrown.nextRetryDelay) };
    },
    record: async (delivery, attempt) =>
      createDeliveryStore(pool, ownSealing).record(delivery, {
        endpointId: delivery.endpointId,
        url: String((await rowOf(pool, "webhook_endpoints", "open_until", delivery.endpointId)).url),
        at: new Date().toISOString(),
        latencyMs: 1.4,
        status: 200,
        error: null,
        answer: "",
        verdict: "delivered",
        dueInMs: 1,
        isTrial: false,
        breakerSteps: [0],
        beginsAnew: false,
        ...attempt,
      }),
    deliveryRow: ({ deliveryId }) => rowOf(pool, "webhook_deliveries", "due_at", deliveryId),
    endpointRow: ({ id }) => rowOf(pool, "webhook_endpoints", "open_until", id),
    attemptsOf: async ({ deliveryId }) => {
      const text =
        "SELECT number, status, error, answer, latency_ms, at FROM webhook_attempts WHERE delivery_id = $1 ORDER BY number";
      return (await pool.query(text, [deliveryId])).rows;
    },
    changeDelivery: ({ deliveryId }, assignments) =>
      pool.query(`UPDATE webhook_deliveries SET ${assignments} WHERE id = $1`, [deliveryId]),
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

async function rowOf(pool: pg.Pool, table: string, column: string, id: string): Promise<WebhookRow> {
  const text = `SELECT *, (1000 * extract(epoch FROM ${column} - now()))::int AS in_ms FROM ${table} WHERE id = $1`;
  return (await pool.query(text, [id])).rows[0];
}
