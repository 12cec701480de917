/**
 * The floor of reporting usage: the same rows by the same insert as raw SQL. Rows are sorted,
 * existing ids are left alone, new ids are returned, and each batch is committed to disk. It looks
 * up nothing, takes no lock and validates nothing. Its parameters are prepared texts; only the ids
 * are written for each batch.
 */
import assert from "node:assert/strict";
import type pg from "pg";
import { inTransaction } from "../../src/store/database/pool.ts";
import type { MeasuredEvent } from "./usage-batches.ts";
import { idLength, writeId } from "./usage-ids.ts";
import { batchSize, isResent, type Serials } from "./usage-load.ts";

/**
 * A batch's parameters: its organisation, a text with placeholders for its ids, and all other
 * columns.
 */
export interface FloorBatch {
  readonly organisationId: string;
  readonly ids: Buffer;
  readonly columns: readonly string[];
}

/** The parameters of these events. An event's `meter` is an index of `meterIds`. */
export function floorBatchOf(
  organisationId: string,
  events: readonly MeasuredEvent[],
  meterIds: readonly string[],
): FloorBatch {
  const arrayOf = (text: (event: MeasuredEvent) => string) => `{${events.map(text).join(",")}}`;
  return {
    organisationId,
    ids: Buffer.from(
      arrayOf(() => " ".repeat(idLength)),
      "latin1",
    ),
    columns: [
      arrayOf(({ subscription }) => subscription),
      arrayOf(({ meter }) => meterIds[meter] ?? ""),
      arrayOf(({ quantity }) => quantity),
      arrayOf(({ timestamp }) => timestamp),
    ],
  };
}

/**
 * The target table: the migrated one, the same partitions without the trigger, or one table instead
 * of sixteen partitions.
 */
export type FloorTable = "usage_events" | "usage_events_untriggered" | "usage_events_unparted";

/** Creates the tables that a migrated database lacks: copies with every index and check. */
export async function createFloorTables(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query("CREATE TABLE usage_events_unparted (LIKE usage_events INCLUDING ALL)");
    await client.query(
      `CREATE TABLE usage_events_untriggered (LIKE usage_events INCLUDING ALL)
        PARTITION BY HASH (organisation_id, event_id)`,
    );
    for (let part = 0; part < 16; part++) {
      await client.query(
        `CREATE TABLE usage_events_untriggered_${part} PARTITION OF usage_events_untriggered FOR
          VALUES WITH (MODULUS 16, REMAINDER ${part})`,
      );
    }
  });
}

function insertText(table: FloorTable): string {
  return `INSERT INTO ${table} (organisation_id, event_id, subscription_id, meter_id, period_index,
    bill, quantity, occurred_at)
    SELECT $1, e.event_id, e.subscription_id, e.meter_id, 1, 1, e.quantity, e.occurred_at
    FROM unnest($2::text[], $3::uuid[], $4::uuid[], $5::numeric[], $6::timestamptz[])
      e (event_id, subscription_id, meter_id, quantity, occurred_at)
    ORDER BY e.event_id ON CONFLICT (organisation_id, event_id) DO NOTHING RETURNING event_id`;
}

/** The parameters of one run of inserts. */
interface FloorParameters {
  readonly table: FloorTable;
  readonly batches: readonly FloorBatch[];
  readonly first: number;
  readonly duplicates: { readonly ofHundred: number; readonly stored: Serials } | null;
  readonly connections: number;
  readonly durationMs: number;
}

/** The result of one run: the batches it sent and the events that were new. */
interface FloorResult {
  readonly sent: Serials;
  readonly created: number;
  readonly resent: number;
  readonly events: number;
  readonly elapsedMs: number;
}

/** Sends batches until the time is over, one after the other on each connection. */
export async function insertBarely(
  pool: pg.Pool,
  parameters: FloorParameters,
): Promise<FloorResult> {
  const { table, batches, first, duplicates, connections, durationMs } = parameters;
  const text = insertText(table);
  const beganMs = performance.now();
  const counts = { sent: 0, created: 0, resent: 0, events: 0 };
  const one = async () => {
    while (performance.now() - beganMs < durationMs) {
      const index = counts.sent++;
      const fresh = first + index;
      const old =
        duplicates === null ? fresh : duplicates.stored.first + (index % duplicates.stored.count);
      const batch = batches[old % batches.length];
      assert(batch);
      const { organisationId, ids, columns } = batch;
      const events = (ids.length - 1) / (idLength + 1);
      for (let position = 0; position < events; position++) {
        const isOld = isResent(position, duplicates?.ofHundred ?? 0);
        if (isOld) counts.resent++;
        writeId(ids, 1 + position * (idLength + 1), (isOld ? old : fresh) * batchSize + position);
      }
      const values = [organisationId, ids.toString("latin1"), ...columns];
      const { rows } = await pool.query({
        name: `insert_barely_${table}`,
        text,
        values,
        rowMode: "array",
      });
      counts.created += rows.length;
      counts.events += events;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  const { sent, ...rest } = counts;
  return { sent: { first, count: sent }, ...rest, elapsedMs: performance.now() - beganMs };
}
