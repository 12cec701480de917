/**
 * The subscriptions of the first sandbox: one in each state, after two months and a half on its
 * clock. They are created through the public API, and the clock is advanced through the admin API,
 * so that everything of them was decided, billed and posted as any platform's. Afterwards the clock
 * shows real time.
 */
import pg from "pg";
import { addDays, type CivilDate, todayIn } from "../../../../src/domain/calendar/civil-date.ts";
import type { Pool } from "../../../../src/store/database/pool.ts";
import type { CreatedOrganisation } from "./first-data.ts";
import { readClock, showRealTime, untilStanding } from "./sandbox-clock.ts";

/** The running service, and the sandbox of the first data. */
export interface HistorySettings {
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly databaseUrl: string;
  readonly demoLedgerUrl: string;
  readonly sandbox: CreatedOrganisation;
  /** Advances the clock. Null if there was an operator before, whose token is not known. */
  readonly operatorToken: string | null;
}

/** The sandbox's timezone in the first data. */
const timezone = "Pacific/Auckland";

/**
 * Longer than any two months and shorter than any three, so that subscriptions from the beginning
 * renew twice, and the end lies within their third period.
 */
const historyDays = 75;

const dayMs = 24 * 60 * 60 * 1000;

/** Returns where the sandbox's clock has to stand before its history. */
export function beginningOfHistory(now: Date): Date {
  return new Date(now.getTime() - historyDays * dayMs);
}

/**
 * Creates the subscriptions. Throws an Error that names the call that failed. Unless the clock is
 * still on its way, it shows real time then as well.
 */
export async function createSandboxHistory(settings: HistorySettings): Promise<void> {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: 2 });
  // Ctrl-C may end the database meanwhile. The query that then fails reports it.
  pool.on("error", () => undefined);
  try {
    if (settings.operatorToken === null)
      throw new Error("an earlier operator exists, and only operators advance clocks");
    await live(settings, settings.operatorToken, pool);
  } finally {
    await showRealTime(pool, settings.sandbox.organisationId).finally(() => pool.end());
  }
}

/** Sends a body to a path of the public API with the sandbox's key, and returns the answer. */
type Post = (path: string, body: object) => Promise<Answer>;

/** The members of answers that are read here. */
interface Answer {
  readonly id: string;
  readonly invoice?: { readonly number: string; readonly ledger: { readonly sync_status: string } };
}

async function live(settings: HistorySettings, operatorToken: string, pool: Pool): Promise<void> {
  const post = postTo(settings);
  const { organisationId } = settings.sandbox;
  const { now: beginning } = await readClock(pool, organisationId);
  const begun = await beginSubscriptions(post, beginning);
  await advanceTo(settings, operatorToken, new Date());
  const { now } = await untilStanding(pool, organisationId);
  const today = todayIn(timezone, now);
  await post("usage_events", usageOf("sandbox-2", begun.metered, 2400, now));
  await post(`subscriptions/${begun.deferred}/units`, {
    units: 9,
    prorate: true,
    proration_behaviour: "charge_on_renewal",
    effective_date: today,
  });
  await post(`subscriptions/${begun.endsLater}/end`, { when: "period_end" });
  await post(`subscriptions/${begun.ended}/end`, { when: "now" });
  const pending = await createPending(post, today);
  await createRefused(post, settings, pending);
}

/** Creates the subscriptions that have a history, with usage of their first period. */
async function beginSubscriptions(post: Post, beginning: Date) {
  const create = async (label: string, order: object) =>
    (await post("subscriptions", { label, ...order })).id;
  await create("Active, with a one-off charge", {
    customer_code: "ACME",
    plan_code: "growth",
    units: 12,
    charges: [{ charge_code: "onboarding" }],
  });
  const metered = await create("Metered", {
    customer_code: "GLOBEX",
    plan_code: "team",
    units: 10,
  });
  const deferred = await create("With a deferred charge", {
    customer_code: "INITECH",
    plan_code: "scale",
    units: 6,
  });
  const endsLater = await create("Ends with its period", {
    customer_code: "ACME",
    plan_code: "site",
  });
  const ended = await create("Ended", { customer_code: "GLOBEX", plan_code: "steps", units: 8 });
  await create("Complete after two periods", {
    customer_code: "INITECH",
    plan_code: "site",
    end_after_cycles: 2,
  });
  await post("usage_events", usageOf("sandbox-1", metered, 1500, beginning));
  return { metered, deferred, endsLater, ended };
}

/** Creates a subscription that begins later, and returns the number of its invoice. */
async function createPending(post: Post, today: CivilDate): Promise<string> {
  const { invoice } = await post("subscriptions", {
    customer_code: "ACME",
    plan_code: "team",
    units: 5,
    start_date: addDays(today, 10),
    label: "Pending",
  });
  if (invoice === undefined) throw new Error("the pending subscription has no invoice");
  return invoice.number;
}

/**
 * Creates a subscription whose first invoice the ledger refuses once: a retry of an operator posts
 * it. The demo ledger is given the number that the invoice will have, which is the one after
 * `previous`. The fault is used up then. If it is not, it is removed with all others.
 */
async function createRefused(
  post: Post,
  { demoLedgerUrl, sandbox: { tenantId } }: HistorySettings,
  previous: string,
): Promise<void> {
  const faults = `${demoLedgerUrl}/demo/faults`;
  const headers = { "Content-Type": "application/json" };
  const fault = {
    kind: "refuse",
    match: "PUT /api.xro/2.0/Invoices",
    tenantId,
    element: numberAfter(previous),
    messages: ["The accounting period is being closed. Try again later."],
  };
  await fetch(faults, { method: "POST", headers, body: JSON.stringify(fault) });
  let isUsedUp = false;
  try {
    const { invoice } = await post("subscriptions", {
      customer_code: "GLOBEX",
      plan_code: "growth",
      units: 3,
      label: "With a refused invoice",
    });
    isUsedUp = invoice?.ledger.sync_status === "failed";
  } finally {
    if (!isUsedUp) await fetch(faults, { method: "DELETE" });
  }
}

/** Returns the next number: `INV-0010` after `INV-0009`. */
function numberAfter(previous: string): string {
  return previous.replace(/\d+$/, (digits) =>
    String(Number(digits) + 1).padStart(digits.length, "0"),
  );
}

function usageOf(eventId: string, subscription: string, quantity: number, at: Date): object {
  const event = { event_id: eventId, subscription, meter_code: "api-calls", quantity };
  return { events: [{ ...event, timestamp: at.toISOString() }] };
}

function postTo({ baseUrl, sandbox }: HistorySettings): Post {
  let count = 0;
  return async (path, body) => {
    count += 1;
    return send(`${baseUrl}/v1/${path}`, sandbox.apiKey, body, `first-start-${count}`);
  };
}

async function send(url: string, key: string, body: object, idempotencyKey: string) {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "Idempotency-Key": idempotencyKey,
    },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  // 207 means that an event of the batch was rejected.
  if (!answer.ok || answer.status === 207)
    throw new Error(`${new URL(url).pathname} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

async function advanceTo(
  { adminUrl, sandbox }: HistorySettings,
  operatorToken: string,
  to: Date,
): Promise<void> {
  const method = "billing.admin.v1.TestClockService/AdvanceTestClock";
  const body = { organisation: sandbox.organisationId, to: to.toISOString() };
  await send(`${adminUrl}/${method}`, operatorToken, body, "first-start-clock");
}
