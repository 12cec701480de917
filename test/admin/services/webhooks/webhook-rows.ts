/**
 * Events, deliveries, failures and encrypted secrets as rows, for tests of the admin API in which
 * nothing is published or delivered.
 */

import { randomUUID } from "node:crypto";
import type { Client } from "@temporalio/client";
import type pg from "pg";
import type { Encryption } from "../../../../src/store/database/encryption.ts";
import { endpointSecretBound } from "../../../../src/store/events/signing-secrets.ts";
import { deliveriesWorkflowId } from "../../../../workflows/contract.ts";
import { until } from "../../../support/system.ts";

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

/**
 * The workflow of an endpoint's deliveries as the engine has it, once it was woken so often; a slow
 * one takes a start when nobody waits for it any more.
 */
export async function wokenDeliveries(client: Client, endpointId: string, wakes = 1) {
  const handle = client.workflow.getHandle(deliveriesWorkflowId(endpointId));
  return until("the engine has it", async () => {
    const found = await handle.describe().catch(() => null);
    if (found === null) return null;
    const { events } = await handle.fetchHistory();
    const woken = (events ?? []).filter((one) => one.workflowExecutionSignaledEventAttributes);
    return woken.length >= wakes && found;
  });
}
