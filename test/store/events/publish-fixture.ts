/**
 * The fixture of the billing run with webhook endpoints, for tests that publish changes without any
 * process.
 */
import type pg from "pg";
import { test } from "vitest";
import { perFile, started } from "../../support/file-fixture.ts";
import { eventsOf, type PublishedEvent, publishAll } from "../../support/published-events.ts";
import { addEndpoint } from "../../support/webhook-builder.ts";
import { type BillingFixture, billingFixture } from "../billing/billing-fixture.ts";

/** A database whose changes are published. */
export interface PublishingFixture extends BillingFixture {
  /** A sandbox on 1 March with an endpoint for all kinds, whose customer is published. */
  listening(): Promise<string>;
  /** A listening sandbox with a subscription and its first invoice, both published. */
  subscribed(): Promise<{ readonly own: string; readonly id: string; readonly invoice: string }>;
  /** Creates an endpoint for these kinds and returns its id. No kinds means all. */
  endpoint(
    organisationId: string,
    kinds?: readonly string[],
    status?: "enabled" | "disabled",
  ): Promise<string>;
  /** Publishes, and returns the new events as `type sequence previous`, oldest first. */
  publish(organisationId: string): Promise<readonly string[]>;
  /** Publishes, and returns the new events, oldest first. */
  publishEvents(organisationId: string): Promise<readonly PublishedEvent[]>;
  /** Sets columns of a row. */
  set(table: string, id: string, assignments: string): Promise<void>;
  /** The number of the organisation's outbox entries. */
  entryCount(organisationId: string): Promise<number>;
}

/** Creates the fixture with its database. */
export async function createPublishingFixture(): Promise<PublishingFixture> {
  const billing = await billingFixture();
  const { pool } = billing;
  const endpoint: PublishingFixture["endpoint"] = (...endpoint) => addEndpoint(pool, ...endpoint);
  const publishEvents: PublishingFixture["publishEvents"] = async (organisationId) => {
    const before = (await eventsOf(pool, organisationId)).length;
    await publishAll(pool, organisationId);
    return (await eventsOf(pool, organisationId)).slice(before);
  };
  const listening = async () => {
    const organisationId = await billing.sandbox("2026-03-01");
    await endpoint(organisationId);
    await publishAll(pool, organisationId);
    return organisationId;
  };
  return {
    ...billing,
    endpoint,
    publishEvents,
    listening,
    subscribed: async () => {
      const own = await listening();
      const id = await billing.subscribe(own);
      const events = await publishEvents(own);
      const invoice = events.find(({ type }) => type === "invoice.created");
      return { own, id, invoice: invoice?.data.object.id ?? "" };
    },
    publish: async (organisationId) =>
      (await publishEvents(organisationId)).map(
        ({ type, sequence, data }) =>
          `${type} ${sequence} ${JSON.stringify(data.previous_attributes)}`,
      ),
    set: async (table, id, assignments) =>
      void (await pool.query(`UPDATE ${table} SET ${assignments} WHERE id = $1`, [id])),
    entryCount: async (organisationId) => {
      const text = "SELECT count(*)::int AS count FROM outbox WHERE organisation_id = $1";
      return (await pool.query<{ count: number }>(text, [organisationId])).rows[0]?.count ?? 0;
    },
  };
}

/** Returns a pool that calls `run` once, before the first statement with this name. */
export function poolBefore(pool: pg.Pool, name: string, run: () => Promise<void>): pg.Pool {
  let hasRun = false;
  const connect = async () => {
    const client = await pool.connect();
    return new Proxy(client, {
      get: (target, member) => {
        const value = Reflect.get(target, member);
        if (typeof value !== "function") return value;
        if (member !== "query") return value.bind(target);
        return async (statement: string | pg.QueryConfig) => {
          if (typeof statement !== "string" && statement.name === name && !hasRun) {
            hasRun = true;
            await run();
          }
          return target.query(statement);
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}

/** Tests on a new database whose changes are published. */
export const publishingTest = test.extend(
  "fixture",
  perFile,
  started(createPublishingFixture, (fixture) => fixture.drop()),
);
