/**
 * Xero's Idempotency-Key (XERO-2). For six minutes the same key gives the same answer, also a
 * refusal or an internal error. Another request under that key is refused. The key and the written
 * rows are saved in one transaction.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { inTransaction, type Queryable } from "../database.ts";
import { badRequestAnswer, type DemoAnswer } from "./answers.ts";

/** The request that a key is compared with. */
interface KeyedRequest {
  readonly clientId: string;
  readonly key: string;
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

// Xero's limits: six minutes from the first call, 128 characters.
const keyLifeSeconds = 360;
const maxKeyLength = 128;

const takeKey = {
  name: "demo-take-key",
  text: `insert into demo_ledger.idempotency (client_id, key, fingerprint) values ($1, $2, $3)
    on conflict (client_id, key) do update set fingerprint = excluded.fingerprint, status = null,
      body = null,
      created_at = clock_timestamp()
    where demo_ledger.idempotency.created_at
      < clock_timestamp() - make_interval(secs => ${keyLifeSeconds})
    returning 1`,
};
const readKey = {
  name: "demo-read-key",
  text: `select fingerprint, status, body from demo_ledger.idempotency
    where client_id = $1 and key = $2`,
};
const saveAnswer = {
  name: "demo-save-answer",
  text: `update demo_ledger.idempotency set status = $3, body = $4
    where client_id = $1 and key = $2`,
};

interface CachedAnswer {
  readonly fingerprint: string;
  readonly status: number;
  readonly body: string;
}

/**
 * Runs a write once for its key. A concurrent request with the same key waits and gets the same
 * answer.
 */
export async function keyedWrite(
  pool: pg.Pool,
  request: KeyedRequest,
  work: (client: Queryable) => Promise<DemoAnswer>,
): Promise<DemoAnswer> {
  if (request.key === "") return inTransaction(pool, work);
  if (request.key.length > maxKeyLength)
    return badRequestAnswer(10, "ValidationException", "Idempotency Key is too long");
  const { clientId, key } = request;
  const fingerprint = createHash("sha256")
    .update(`${request.method} ${request.url}\n${request.body}`)
    .digest("hex");
  return inTransaction(pool, async (client) => {
    const taken = await client.query({ ...takeKey, values: [clientId, key, fingerprint] });
    if (taken.rowCount === 0) {
      const { rows } = await client.query<CachedAnswer>({ ...readKey, values: [clientId, key] });
      return replay(key, fingerprint, rows[0]);
    }
    const answer = await work(client);
    await client.query({ ...saveAnswer, values: [clientId, key, answer.status, answer.body] });
    return answer;
  });
}

/** Deletes expired keys. */
export async function deleteExpiredKeys(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from demo_ledger.idempotency
      where created_at < clock_timestamp() - make_interval(secs => $1)`,
    [keyLifeSeconds],
  );
}

function replay(key: string, fingerprint: string, kept: CachedAnswer | undefined): DemoAnswer {
  if (kept?.fingerprint !== fingerprint) {
    const message = `Idempotency Key: ${key} is used with a different request.`;
    return badRequestAnswer(10, "ValidationException", message);
  }
  const type = kept.body.startsWith("{") ? "application/json; charset=utf-8" : "text/html";
  return { status: kept.status, headers: { "content-type": type }, body: kept.body };
}
