/**
 * The demo ledger's webhooks: what was made or changed, told to the address of its organisation in Xero's form and with
 * Xero's signature. A trigger writes each event with the change (schema.ts); here they are sent, and a few times again.
 * Facts: facts-ledger section 1.9.
 */
import { createHmac, randomBytes } from "node:crypto";
import type pg from "pg";

/** Sends what waits. */
export interface WebhookSender {
  /** Something may wait. Returns at once. */
  kick(): void;
  /** Resolves once what is on its way is answered. */
  stop(): Promise<void>;
}

/** Where an organisation's webhooks go, and the key that signs them. */
export interface WebhookTarget {
  readonly url: string;
  readonly key: string;
}

// Xero retries for a day; here a receiver that is restarted is waited for, and a test need not be.
const pausesMs = [200, 1_000, 5_000, 15_000] as const;

// Xero gives up after five seconds.
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

// Held for as long as an answer may take, so that two servers on one database do not send the same.
const takeStatement = `
with next as (
  select tenant_id from demo_ledger.webhook_events where try_at <= now() order by event_id limit 1
), taken as (
  select event_id from demo_ledger.webhook_events where tenant_id = (select tenant_id from next) and try_at <= now()
  order by event_id limit ${eventsAtOnce} for update skip locked
)
update demo_ledger.webhook_events e
set try_at = now() + interval '${answerWithinMs * 2} milliseconds', attempts = attempts + 1
from taken, demo_ledger.tenants t where e.event_id = taken.event_id and t.tenant_id = e.tenant_id
returning e.*, t.webhook_url as url, t.webhook_key as key`;

/** A sender over the ledger's database; `log` is told of what could not be delivered. */
export function createWebhookSender(pool: pg.Pool, log: (cause: string) => void): WebhookSender {
  let isAsked = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let sending = Promise.resolve();

  const sendAll = async (): Promise<void> => {
    while (isAsked && !isStopped) {
      isAsked = false;
      while (!isStopped && (await sendNext(pool, log)));
    }
    const waitMs = isStopped ? null : await nextInMs(pool);
    if (waitMs !== null) timer = setTimeout(kick, waitMs);
  };
  let isSending = false;
  const kick = (): void => {
    isAsked = true;
    if (isSending || isStopped) return;
    clearTimeout(timer);
    isSending = true;
    sending = sendAll()
      .catch((error: Error) => log(error.message))
      .finally(() => {
        isSending = false;
        if (isAsked) kick();
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
 * Asks an address what Xero asks before it sends anything: whether it takes a body that is signed rightly (200) and
 * refuses one that is not (401). Null where it does, else why not.
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
    await pool.query("delete from demo_ledger.webhook_events where event_id = any($1::bigint[])", [ids]);
    return true;
  }
  log(`a webhook was answered ${status ?? "not at all"}`);
  await pool.query(
    `with late as (delete from demo_ledger.webhook_events where event_id = any($1::bigint[]) and attempts > ${pausesMs.length})
     update demo_ledger.webhook_events set try_at = now() + ($2::int[])[attempts] * interval '1 millisecond'
     where event_id = any($1::bigint[]) and attempts <= ${pausesMs.length}`,
    [ids, pausesMs],
  );
  return true;
}

async function nextInMs(pool: pg.Pool): Promise<number | null> {
  const { rows } = await pool.query<{ wait_ms: number | null }>(
    "select ceil(1000 * extract(epoch from min(try_at) - now()))::float8 as wait_ms from demo_ledger.webhook_events",
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

// Null where nothing was answered.
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
