/**
 * Concurrent, repeated and nested changes of units: one wins in each state, the others get the
 * documented refusal, and nothing is billed twice. STATE-3, IDEMPOTENCY-2.
 */
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { ledgerWorkflowId } from "../../workflows/contract.ts";
import { type ApiProcess, startApiProcess } from "../faults/processes.ts";
import { type Answered, ask as send, untilBegun } from "../support/answer.ts";
import { expectExplained } from "../support/explained-documents.ts";
import { fromNow, newestJob, setOrganisation, tables } from "../support/rows.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { type Ask, checkedAsk, refusalOf, refused } from "./checked-ask.ts";
import { addBands, type Json, type UnitsBuilder, unitsBuilder } from "./units-builder.ts";

let system: TestSystem;
let second: ApiProcess;
let ask: Ask;
let builder: UnitsBuilder;
let drafts: CreatedOrganisation;
let approved: CreatedOrganisation;

/**
 * A request that waits three seconds for a connection is answered `temporarily_unavailable`. With
 * this pool none of a hundred concurrent requests waits that long, however slow the machine is.
 */
const pool = { DATABASE_POOL_SIZE: "30" };

beforeAll(async () => {
  system = await startSystem({ env: { ...pool, LEDGER_CALL_SECONDS: "20" } });
  second = await startApiProcess(system, { ...pool, RATE_LIMIT_PER_MINUTE: "100000" });
  ask = checkedAsk(system);
  builder = unitsBuilder(system, ask);
  drafts = await builder.sandbox();
  approved = await builder.sandbox({ first_invoice_status: "approved" });
  for (const own of [drafts, approved]) await builder.setClock(own, "2026-04-16");
});

afterAll(async () => {
  await second?.stop();
  await expectExplained(system.pool).finally(() => system.stop());
});

const april = { start_date: "2026-04-01" };
const half = { prorate: true, effective_date: "2026-04-16" };

/** A change of units by one of the two API processes. */
function changeAt(
  url: number,
  own: CreatedOrganisation,
  id: string,
  body: object,
  key?: string,
): Promise<Answered> {
  const base = [system.baseUrl, second.baseUrl][url % 2];
  const asked = { key: own.apiKey, body, ...(key === undefined ? {} : { idempotencyKey: key }) };
  return untilBegun(() => send(`${base}/v1/subscriptions/${id}/units`, "POST", asked));
}

/** So many changes at once over both processes; the body by its number. */
function atOnce(
  own: CreatedOrganisation,
  id: string,
  count: number,
  bodyOf: (n: number) => object,
): Promise<Answered[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => changeAt(n, own, id, bodyOf(n))));
}

/** `200`, or the code of the refusal. */
const outcomeOf = ({ status, json }: Answered): string =>
  status === 200 ? "200" : json.error.code;

/** The amounts of all proration lines of a subscription's invoices, in hundredths. */
async function prorated(own: CreatedOrganisation, id: string): Promise<number> {
  const lines = (await builder.invoices(own, id)).flatMap((invoice) => invoice.lines);
  const charges = lines.filter(({ kind }: Json) => kind === "proration");
  return charges.reduce(
    (sum: number, { amount }: Json) => sum + Math.round(Number(amount) * 100),
    0,
  );
}

/** Half of them at each of the two processes. */
const count = 10;

describe("ten concurrent changes", () => {
  test("to one total, on separate invoices: one succeeds, the others find it made", async () => {
    const { id } = await builder.subscribe(approved, april);
    const answers = await atOnce(approved, id, count, () => ({ units: 13, ...half }));
    const losers = Array.from({ length: count - 1 }, () => "units_unchanged");
    expect(answers.map(outcomeOf).sort()).toEqual(["200", ...losers]);
    expect(await builder.invoices(approved, id)).toHaveLength(2);
    expect(await prorated(approved, id)).toBe(15_00);
    await builder.expectEqualDocuments(approved);
  });

  test("to one total, joining one draft: one succeeds, the others get its state", async () => {
    const { id } = await builder.subscribe(drafts, april);
    const answers = await atOnce(drafts, id, count, () => ({ units: 13, ...half }));
    const outcomes = answers.map(outcomeOf);
    expect(outcomes.filter((outcome) => outcome === "200")).toHaveLength(1);
    for (const outcome of outcomes)
      expect(["200", "invalid_state", "units_unchanged"]).toContain(outcome);
    expect(await prorated(drafts, id)).toBe(15_00);
    await builder.expectEqualDocuments(drafts);
  });

  test("to different totals, on separate invoices: the highest units are billed once", async () => {
    const { id } = await builder.subscribe(approved, april);
    const answers = await atOnce(approved, id, count, (n) => ({ units: 11 + n, ...half }));
    for (const outcome of answers.map(outcomeOf))
      expect(["200", "proration_not_applicable"]).toContain(outcome);
    expect((await builder.subscription(approved, id)).units).toBe(10 + count);
    expect(await prorated(approved, id)).toBe(count * 5_00);
    const made = answers.filter(({ status }) => status === 200);
    expect(await builder.invoices(approved, id)).toHaveLength(1 + made.length);
    await builder.expectEqualDocuments(approved);
  });

  test("to different totals, joining one draft: every accepted change is billed once", async () => {
    const { id } = await builder.subscribe(drafts, april);
    const answers = await atOnce(drafts, id, count, (n) => ({ units: 11 + n, ...half }));
    const allowed = ["200", "invalid_state", "proration_not_applicable"];
    for (const outcome of answers.map(outcomeOf)) expect(allowed).toContain(outcome);
    const made = answers
      .filter(({ status }) => status === 200)
      .map(({ json }) => json.change.units);
    expect(made.length).toBeGreaterThan(0);
    expect((await builder.subscription(drafts, id)).units).toBe(Math.max(...made));
    expect(await prorated(drafts, id)).toBe((Math.max(...made) - 10) * 5_00);
    await builder.expectEqualDocuments(drafts);
  });

  test("amending a renewal invoice: it bills the units of the last change", async () => {
    const ahead = await builder.sandbox({
      first_invoice_status: "approved",
      invoice_create_days: 20,
    });
    await builder.setClock(ahead, "2026-04-16");
    const { id } = await builder.subscribe(ahead, april);
    const answers = await atOnce(ahead, id, count, (n) => ({ units: 20 - n, document: "amend" }));
    for (const outcome of answers.map(outcomeOf))
      expect(["200", "invalid_state", "units_unchanged"]).toContain(outcome);
    const { units } = await builder.subscription(ahead, id);
    const [renewal] = await builder.invoices(ahead, id);
    expect(renewal).toMatchObject({ subtotal: `${units}0.0000`, lines: [{ units }] });
    await builder.expectEqualDocuments(ahead);
  });

  test("on a volume plan: the credit note is issued once", async () => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    await addBands(system, own);
    const { id } = await builder.subscribe(own, { ...april, plan_code: "bands" });
    const answers = await atOnce(own, id, count, () => ({
      units: 11,
      prorate: true,
      effective_date: "2026-04-01",
    }));
    expect(answers.map(outcomeOf).filter((outcome) => outcome === "200")).toHaveLength(1);
    expect((await builder.creditNotes(own, id)).map(({ subtotal }) => subtotal)).toEqual([
      "12.0000",
    ]);
  });

  test("at a renewal: it is issued once, and changes are decided in the new period", async () => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id } = await builder.subscribe(own, april);
    await builder.setClock(own, "2026-06-01");
    const from = { prorate: true, effective_date: "2026-06-01" };
    const answers = await atOnce(own, id, count, (n) => ({ units: 11 + n, ...from }));
    for (const outcome of answers.map(outcomeOf))
      expect(["200", "proration_not_applicable"]).toContain(outcome);
    await builder.expectEqualDocuments(own);
    const shown = await builder.invoices(own, id);
    const renewals = shown
      .filter(({ type }) => type === "renewal")
      .map(({ period, subtotal }) => [period.start, subtotal]);
    expect(renewals).toEqual([
      ["2026-06-01", "100.0000"],
      ["2026-05-01", "100.0000"],
    ]);
    expect(await prorated(own, id)).toBe(count * 10_00);
  });
});

test("concurrent changes and creations of many subscriptions do not delay each other", async () => {
  const own = await builder.sandbox();
  await builder.setClock(own, "2026-04-16");
  const subscriptions = await Promise.all(
    Array.from({ length: 8 }, () => builder.subscribe(own, april)),
  );
  const changes = [...subscriptions, ...subscriptions].map(({ id }, n) =>
    changeAt(n, own, id, n < 8 ? { units: 13, ...half } : { units: 5 }),
  );
  const created = Array.from({ length: 8 }, () => builder.subscribe(own, april));
  const answers = await Promise.all(changes);
  await Promise.all(created);
  expect(answers.slice(0, 8).map(outcomeOf)).not.toContain("internal_error");
  for (const outcome of answers.map(outcomeOf)) {
    expect(["200", "invalid_state", "proration_not_applicable"]).toContain(outcome);
  }
  await builder.expectEqualDocuments(own);
});

describe("an Idempotency-Key of a change", () => {
  test("turns a hundred requests into one change with one answer, byte for byte", async () => {
    const { id } = await builder.subscribe(drafts, april);
    const body = { units: 13, ...half };
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        changeAt(n, drafts, id, n % 2 === 0 ? body : { ...half, units: 13 }, "hundred"),
      ),
    );
    const made = answers.filter(({ status }) => status === 200);
    for (const outcome of answers.map(outcomeOf))
      expect(["200", "request_in_progress"]).toContain(outcome);
    const again = await builder.change(drafts, id, body, "hundred");
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
    expect(new Set([...made, again].map(({ text }) => text)).size).toBe(1);
    expect(made.filter(({ headers }) => !headers.has("Idempotent-Replayed"))).toHaveLength(1);
    const changes = tables(system.pool).unitChange;
    expect(await changes.findMany({ where: { subscriptionId: id } })).toMatchObject([
      { fromUnits: 10, toUnits: 13 },
    ]);
    expect(await prorated(drafts, id)).toBe(15_00);
  });

  test("without a stored answer finds its change, never units_unchanged", async () => {
    const { id } = await builder.subscribe(drafts, april);
    const first = await builder.change(drafts, id, { units: 13, ...half }, "lost");
    // As if the process had died before it stored the answer.
    const keys = tables(system.pool).idempotencyKey;
    await keys.deleteMany({ where: { key: "lost" } });
    const again = await builder.change(drafts, id, { units: 13, ...half }, "lost");
    expect([again.status, again.json]).toEqual([200, first.json]);
    await keys.deleteMany({ where: { key: "lost" } });
    // Another request may not pass for it.
    const other = await builder.change(drafts, id, { units: 14, ...half }, "lost");
    expect(refusalOf(other)).toEqual(refused(409, "idempotency_conflict"));
    // After its 24 hours the key stands for a new request.
    await tables(system.pool).unitChange.updateMany({
      where: { subscriptionId: id },
      data: { createdAt: fromNow(-24 * 60) },
    });
    const later = await builder.change(drafts, id, { units: 13, ...half }, "lost");
    expect(refusalOf(later)).toEqual(refused(422, "units_unchanged", "units"));
    expect(await prorated(drafts, id)).toBe(15_00);
  });
});

test("a change is 409 while an amendment runs, and the message names the invoice", async () => {
  const { id, invoice } = await builder.subscribe(drafts, april);
  // Until it is let go: less than a call to the ledger may take here.
  const held = { kind: "slow_before", delayMs: 18_000 };
  await system.fault({ ...held, match: "POST /api.xro/2.0/Invoices", tenantId: drafts.tenantId });
  const first = builder.change(drafts, id, { units: 13, ...half });
  const amending = { subscriptionId: id, kind: "amend_invoice" };
  await until("it is on its way", () => newestJob(system.pool, amending));
  for (const body of [{ units: 14, ...half }, { units: 5 }, { units: 13 }]) {
    const answer = await builder.change(drafts, id, body);
    expect(refusalOf(answer)).toEqual(refused(409, "invalid_state"));
    expect(answer.json.error.message).toContain(`invoice ${invoice.number} is being amended`);
  }
  await system.clearFaults();
  expect((await first).json.change.invoice).toMatchObject({
    subtotal: "115.0000",
    total: "138.0000",
  });
  await builder.changed(drafts, id, { units: 5 });
});

test("a refused change posts to the ledger at once what was due", async () => {
  const own = await builder.sandbox({ setup_mode: true });
  // Setup Mode issues nothing, so the organisation's workflow has not started yet.
  const { id } = await builder.subscribe(own, april);
  await setOrganisation(system.pool, own.organisationId, { setupMode: false });
  const connection = await Connection.connect({ address: system.temporal.address });
  const client = new Client({ connection, namespace: system.temporal.namespace });
  const isStarted = async () =>
    client.workflow
      .getHandle(ledgerWorkflowId(own.organisationId))
      .describe()
      .then(
        () => true,
        () => false,
      );
  // Without a worker there is no dispatcher either: only the request itself can start it.
  await system.worker.stop();
  await builder.setClock(own, "2026-05-01");
  expect(await isStarted()).toBe(false);
  expect(refusalOf(await builder.change(own, id, { units: 10 })).code).toBe("units_unchanged");
  await until("the workflow is started", isStarted);
  await connection.close();
  await system.worker.start();
  await builder.expectEqualDocuments(own);
});
