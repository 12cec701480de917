/**
 * Posts documents under Xero's own call limits: thousands of documents of one organisation wait,
 * and a caller arrives every few seconds. Measures calls a minute against the 60 allowed, with a
 * ledger that answers at once and with one that takes two seconds. Also documents a minute, and the
 * duration of a caller's creation meanwhile.
 *
 * Aim: 95 % of the calls with the first ledger and 90 % with the second, whose calls count for
 * longer. No call is rejected. POSTING-3, POSTING-6
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { request } from "undici";
import { type CallCounts, xeroLimits } from "../packages/demo-ledger/src/api/limits.ts";
import type { CreatedOrganisation } from "../packages/dev/src/demo/first-data.ts";
import { addReadyDocuments } from "../test/support/ready-documents.ts";
import { median, printFigure } from "./support/figure.ts";
import { requirePostedOnce } from "./support/posted-once.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

/**
 * Two and a half of the ledger's minutes. The first begins with a burst, the others show the flow.
 */
const measuredMs = 150_000;

/** The most documents of one call. */
const documentsOfCall = 50;

/** A minute's calls more than can go out in the time: posting must never wait for documents. */
const readyDocuments = 3.5 * xeroLimits.minute * documentsOfCall;

/** Documents in one SQL statement. */
const batch = 500;

/** The interval between callers, as a platform has them. Each costs at most one call. */
const callerEveryMs = 5_000;

/** The slow ledger's time for a call with documents. Xero takes about so long for fifty. */
const slowMs = 2_000;

/** The time limit for posting the rest. */
const restMs = 120_000;

/** The result of one measurement. */
interface Stage {
  readonly callsPerMinute: number;
  readonly documentsPerMinute: number;
  readonly turnedAway: number;
  /** Milliseconds of each caller's creation, until its document was in the ledger. */
  readonly callersMs: readonly number[];
}

async function countCalls(
  { demoLedgerUrl }: MeasuredSystem,
  { tenantId }: CreatedOrganisation,
): Promise<CallCounts> {
  const { body } = await request(`${demoLedgerUrl}/demo/tenants/${tenantId}/calls`);
  return (await body.json()) as CallCounts;
}

async function countDocuments(
  { pool }: MeasuredSystem,
  { tenantId }: CreatedOrganisation,
): Promise<number> {
  const text =
    "SELECT count(*)::int AS documents FROM demo_ledger.invoices WHERE tenant_id::text = $1";
  return (await pool.query<{ documents: number }>(text, [tenantId])).rows[0]?.documents ?? 0;
}

/**
 * Creates a subscription. Returns its id and its invoice's id once the invoice is in the ledger.
 */
async function createOne(
  { baseUrl }: MeasuredSystem,
  { apiKey }: CreatedOrganisation,
): Promise<readonly [string, string]> {
  const { statusCode, body } = await request(`${baseUrl}/v1/subscriptions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID(),
    },
    body: JSON.stringify({ customer_code: "ACME", plan_code: "team", units: 10 }),
  });
  const text = await body.text();
  assert.equal(statusCode, 201, text);
  const { id, invoice } = JSON.parse(text);
  assert.equal(invoice.ledger.sync_status, "synced", text);
  return [id, invoice.id];
}

/** Adds the waiting documents. Returns their invoices by subscription. */
async function addDocuments(
  { pool }: MeasuredSystem,
  organisation: CreatedOrganisation,
): Promise<Map<string, string>> {
  for (let before = 0; before < readyDocuments; before += batch)
    await addReadyDocuments(pool, organisation, batch, before);
  await pool.query("VACUUM ANALYZE");
  const { rows } = await pool.query<{ id: string; subscription_id: string }>(
    "SELECT id, subscription_id FROM invoices WHERE organisation_id = $1",
    [organisation.organisationId],
  );
  return new Map(rows.map((row) => [row.subscription_id, row.id]));
}

/**
 * Measures from the ledger's first call. Rejects unless every document is in the ledger exactly
 * once at the end.
 */
async function measure(system: MeasuredSystem, organisation: CreatedOrganisation): Promise<Stage> {
  const { taken: before } = await countCalls(system, organisation);
  const acknowledged = await addDocuments(system, organisation);
  while ((await countCalls(system, organisation)).taken === before) await wait(20);
  const beganMs = performance.now();
  const callersMs: number[] = [];
  const callers = async () => {
    for (let nextMs = callerEveryMs; nextMs < measuredMs; nextMs += callerEveryMs) {
      await wait(Math.max(0, beganMs + nextMs - performance.now()));
      const startedMs = performance.now();
      acknowledged.set(...(await createOne(system, organisation)));
      callersMs.push(performance.now() - startedMs);
    }
  };
  await Promise.all([callers(), wait(measuredMs)]);
  const minutes = (performance.now() - beganMs) / 60_000;
  const [{ taken }, documents] = [
    await countCalls(system, organisation),
    await countDocuments(system, organisation),
  ];
  await untilPosted(system, organisation);
  await requirePostedOnce(system.pool, organisation, acknowledged);
  const { turnedAway } = await countCalls(system, organisation);
  return {
    callsPerMinute: (taken - before) / minutes,
    documentsPerMinute: documents / minutes,
    turnedAway,
    callersMs,
  };
}

async function untilPosted(
  system: MeasuredSystem,
  organisation: CreatedOrganisation,
): Promise<void> {
  const endMs = performance.now() + restMs;
  while (performance.now() < endMs && (await countDocuments(system, organisation)) < readyDocuments)
    await wait(500);
}

/** Makes every call that creates invoices for this tenant slow. */
async function slowDown(
  { demoLedgerUrl }: MeasuredSystem,
  { tenantId }: CreatedOrganisation,
): Promise<void> {
  const fault = {
    tenantId,
    kind: "slow_before",
    match: "PUT /api.xro/2.0/Invoices",
    delayMs: slowMs,
    times: 1_000_000,
  };
  const headers = { "content-type": "application/json" };
  const { statusCode } = await request(`${demoLedgerUrl}/demo/faults`, {
    method: "POST",
    headers,
    body: JSON.stringify(fault),
  });
  assert.equal(statusCode, 200);
}

function print(
  name: string,
  { callsPerMinute, documentsPerMinute, turnedAway, callersMs }: Stage,
): void {
  printFigure(`${name}_calls`, callsPerMinute, "calls/min", xeroLimits.minute);
  printFigure(
    `${name}_documents`,
    documentsPerMinute,
    "documents/min",
    xeroLimits.minute * documentsOfCall,
  );
  printFigure(`${name}_turned_away`, turnedAway, "calls");
  printFigure(`${name}_caller_p50`, median(callersMs), "ms");
  printFigure(`${name}_caller_worst`, Math.max(...callersMs), "ms");
}

/**
 * Prints the figures. Rejects if a call was rejected, or if a document was lost or is there twice.
 */
export async function run(): Promise<void> {
  const system = await startMeasuredSystem({ DEMO_LEDGER_LIMITS: "xero", DEMO_LEDGER_FAULTS: "1" });
  try {
    const quick = await measure(system, await system.organisation("Quick"));
    print("ledger", quick);
    const slowed = await system.organisation("Slow");
    await slowDown(system, slowed);
    const slow = await measure(system, slowed);
    print("slow_ledger", slow);
    assert.equal(quick.turnedAway + slow.turnedAway, 0, "no call was turned away");
  } finally {
    await system.stop();
  }
}
