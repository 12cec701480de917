/** The world of the billing run with endpoints in it, for tests of telling without any process. */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { newId } from "../../../src/store/database/ids.ts";
import { eventsOf, type PublishedEvent, publishAll } from "../../support/published-events.ts";
import { type BillingWorld, billingWorld } from "../billing/billing-fixture.ts";

/** A database in which changes are told. */
export interface TellingWorld extends BillingWorld {
  /** A sandbox on 1 March with an endpoint for all kinds, whose customer was told of. */
  listening(): Promise<string>;
  /** An endpoint for these kinds (none: all). Its id. */
  endpoint(
    organisationId: string,
    kinds?: readonly string[],
    status?: "enabled" | "disabled",
  ): Promise<string>;
  /** Tells, and answers the events of this time, `type sequence previous`, oldest first. */
  news(organisationId: string): Promise<readonly string[]>;
  /** The same, whole. */
  newEvents(organisationId: string): Promise<readonly PublishedEvent[]>;
  /** Sets columns of a row. */
  set(table: string, id: string, assignments: string): Promise<void>;
  /** The marks of an organisation that nobody took. */
  marks(organisationId: string): Promise<number>;
}

/** A world of its own. */
export async function tellingWorld(): Promise<TellingWorld> {
  const world = await billingWorld();
  const { pool } = world;
  const newEvents: TellingWorld["newEvents"] = async (organisationId) => {
    const before = (await eventsOf(pool, organisationId)).length;
    await publishAll(pool, organisationId);
    return (await eventsOf(pool, organisationId)).slice(before);
  };
  const endpoint: TellingWorld["endpoint"] = async (
    organisationId,
    kinds = [],
    status = "enabled",
  ) => {
    const id = newId();
    await pool.query(
      `INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, status, disabled_at, disabled_reason, encrypted_secret, encryption_key_id)
        VALUES ($1, $2, 'https://hooks.example.com', $3, $4, CASE $4 WHEN 'disabled' THEN now() END,
          CASE $4 WHEN 'disabled' THEN 'By hand' END, $5, 'key')`,
      [id, organisationId, kinds, status, randomBytes(32)],
    );
    return id;
  };
  return {
    ...world,
    endpoint,
    newEvents,
    listening: async () => {
      const organisationId = await world.sandbox("2026-03-01");
      await endpoint(organisationId);
      await publishAll(pool, organisationId);
      return organisationId;
    },
    news: async (organisationId) =>
      (await newEvents(organisationId)).map(
        ({ type, sequence, data }) =>
          `${type} ${sequence} ${JSON.stringify(data.previous_attributes)}`,
      ),
    set: async (table, id, assignments) =>
      void (await pool.query(`UPDATE ${table} SET ${assignments} WHERE id = $1`, [id])),
    marks: async (organisationId) => {
      const text = "SELECT count(*)::int AS count FROM outbox WHERE organisation_id = $1";
      return (await pool.query<{ count: number }>(text, [organisationId])).rows[0]?.count ?? 0;
    },
  };
}

/** A pool that lets something happen before the statement with this name is sent, once. */
export function poolBefore(pool: pg.Pool, name: string, happens: () => Promise<void>): pg.Pool {
  let isOver = false;
  const connect = async () => {
    const client = await pool.connect();
    return new Proxy(client, {
      get: (target, member) => {
        const value = Reflect.get(target, member);
        if (typeof value !== "function") return value;
        if (member !== "query") return value.bind(target);
        return async (statement: string | pg.QueryConfig) => {
          if (typeof statement !== "string" && statement.name === name && !isOver) {
            isOver = true;
            await happens();
          }
          return target.query(statement);
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}
