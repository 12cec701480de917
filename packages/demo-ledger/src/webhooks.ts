/**
 * The demo ledger's webhooks: notifications of created and changed objects, in Xero's form and with
 * Xero's signature (XERO-11). A trigger writes each event with the change (schema.ts). This file
 * sends them, with a few retries.
 */
import { createHmac, randomBytes } from "node:crypto";
import type pg from "pg";

/** Sends pending events. */
interface WebhookSender {
  /** Starts a send if events may be pending. Returns at once. */
  kick(): void;
  /** Resolves once all current sends are answered. */
  stop(): Promise<void>;
}

/** The address of an organisation's webhooks, and their signing key. */
export interface WebhookTarget {
  readonly url: string;
  readonly key: string;
}

// Xero retries for a day. These pauses outlast a receiver's restart, and keep tests short.
const pausesMs = [200, 1_000, 5_000, 15_000] as const;

// Xero gives up after five seconds (XERO-11).
const answerWithinMs = 5_000;

const eventsAtOnce = 50;

interface EventRow {
  readonly event_id: string;
  readonly category: string;
  readonly type: string;
  readonly resource_id: string;
  readonly happened_at: Date;
  readonly attempts: number;
  readonly tenant_id: string;
  readonly url: string;
  readonly key: string;
}

// An event is leased for as long as an answer may take, so that two servers on one database do not
// both send it.
const takeStatement = `
with next as (
  select tenant_id from demo_ledger.webhook_events where try_at <= now() order by event_id limit 1
), taken as (
  select event_id from demo_ledger.webhook_events where tenant_id = (select tenant_id from next)
    and try_at <= now()
  order by event_id limit ${eventsAtOnce} for update skip locked
)
update demo_ledger.webhook_events e
set try_at = now() + interval '${answerWithinMs * 2} milliseconds', attempts = attempts + 1
from taken, demo_ledger.tenants t where e.event_id = taken.event_id and t.tenant_id = e.tenant_id
returning e.*, t.webhook_url as url, t.webhook_key as key`;

/** Creates a sender over the ledger's database. `log` gets the cause of every failed delivery. */
export function createWebhookSender(pool: pg.Pool, log: (cause: string) => void): WebhookSender {
  let isRequested = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let sending = Promise.resolve();

  const sendAll = async (): Promise<void> => {
    while (isRequested && !isStopped) {
      isRequested = false;
      while (!isStopped && (await sendNext(pool, log)));
    }
    const waitMs = isStopped ? null : await nextInMs(pool);
    if (waitMs !== null) timer = setTimeout(kick, waitMs);
  };
  let isSending = false;
  const kick = (): void => {
    isRequested = true;
    if (isSending || isStopped) return;
    clearTimeout(timer);
    isSending = true;
    sending = sendAll()
      .catch((error: Error) => log(error.message))
      .finally(() => {
        isSending = false;
        if (isRequested) kick();
      });
  };
  return {
    kick,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await sending;
    },
  };
}

/**
 * Sends Xero's intent to receive to an address: it must accept a correct signature (200) and refuse
 * a wrong one (401). Returns null if it does, else the reason.
 */
export async function intentToReceive(target: WebhookTarget): Promise<string | null> {
  const body = bodyOf([]);
  const good = await post(target.url, body, signed(body, target.key));
  if (good !== 200) return `A rightly signed body was answered ${good ?? "not at all"}.`;
  const bad = await post(target.url, body, signed(`${body} `, target.key));
  return bad === 401 ? null : `A wrongly signed body was answered ${bad ?? "not at all"}.`;
}

async function sendNext(pool: pg.Pool, log: (cause: string) => void): Promise<boolean> {
  const { rows } = await pool.query<EventRow>(takeStatement);
  const [first] = rows;
  if (first === undefined) return false;
  const body = bodyOf(rows.toSorted((one, other) => Number(one.event_id) - Number(other.event_id)));
  const status = await post(first.url, body, signed(body, first.key));
  const ids = rows.map(({ event_id }) => event_id);
  if (status !== null && status >= 200 && status < 300) {
    await pool.query("delete from demo_ledger.webhook_events where event_id = any($1::bigint[])", [
      ids,
    ]);
    return true;
  }
  log(`a webhook was answered ${status ?? "not at all"}`);
  await pool.query(
    `with late as (delete from demo_ledger.webhook_events where event_id = any($1::bigint[])
      and attempts > ${pausesMs.length})
     update demo_ledger.webhook_events
       set try_at = now() + ($2::int[])[attempts] * interval '1 millisecond'
     where event_id = any($1::bigint[]) and attempts <= ${pausesMs.length}`,
    [ids, pausesMs],
  );
  return true;
}

async function nextInMs(pool: pg.Pool): Promise<number | null> {
  const { rows } = await pool.query<{ wait_ms: number | null }>(
    `select ceil(1000 * extract(epoch from min(try_at) - now()))::float8 as wait_ms
    from demo_ledger.webhook_events`,
  );
  const waitMs = rows[0]?.wait_ms ?? null;
  return waitMs === null ? null : Math.max(1, waitMs);
}

function bodyOf(events: readonly EventRow[]): string {
  return JSON.stringify({
    events: events.map((event) => ({
      resourceUrl: `https://api.xero.com/api.xro/2.0/${event.category}/${event.resource_id}`,
      resourceId: event.resource_id,
      tenantId: event.tenant_id,
      tenantType: "ORGANISATION",
      eventCategory: event.category,
      eventType: event.type,
      eventDateUtc: event.happened_at.toISOString().slice(0, -1),
    })),
    firstEventSequence: Number(events[0]?.event_id ?? 1),
    lastEventSequence: Number(events.at(-1)?.event_id ?? 1),
    entropy: randomBytes(10).toString("hex").toUpperCase(),
  });
}

function signed(body: string, key: string): string {
  return createHmac("sha256", key).update(body).digest("base64");
}

// Returns null if there was no answer.
async function post(url: string, body: string, signature: string): Promise<number | null> {
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "x-xero-signature": signature },
      body,
      signal: AbortSignal.timeout(answerWithinMs),
      redirect: "manual",
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return null;
  }
}
