/**
 * SIGKILL between every two steps of a change of units, in the API and in the worker; then the same
 * request again. The change is made once, its answer is that of the change (never
 * `units_unchanged`), and the ledger's documents equal ours. The steps of posting new documents are
 * in `credit-faults` and `kill-at-every-step`. IDEMPOTENCY-2.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import { addBands, type Json, type UnitsBuilder } from "../scenario/units-builder.ts";
import {
  amendmentCrashPoints,
  postingCrashPoints,
  unitsCrashPoints,
} from "../support/crash-points.ts";
import { perFile } from "../support/file-fixture.ts";
import { countJobs, tables } from "../support/rows.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import { dieOf, type Post, postUntil } from "./processes.ts";

const test = aloneTest
  // What a killed worker had taken is free after three times this.
  .extend("settings", perFile, { env: { LEDGER_CALL_SECONDS: "1" } });

const ofWorker: readonly string[] = [...postingCrashPoints, ...amendmentCrashPoints];
const ofApi = unitsCrashPoints.filter((point) => !ofWorker.includes(point));
/** Up to here nothing is written, and one kind of change is like another. */
const unwritten: readonly string[] = ["admitted", "key_begun", "units_loaded"];
/** The API begins all amendments in one way; a credit note with an amendment begins in another. */
const begun = ["join", "credit"] as const;

/** A change of one kind: its units, its request, and its expected result. */
interface Case {
  readonly settings: Record<string, unknown>;
  readonly plan: string;
  readonly body: object;
  /** The subtotals of the subscription's invoices, newest first, and of its credit notes. */
  readonly invoices: readonly string[];
  readonly notes: readonly string[];
}

const half = { prorate: true, effective_date: "2026-04-16" };
const ahead = { invoice_create_days: 20, first_invoice_status: "approved" };

const cases = {
  join: {
    settings: {},
    plan: "team",
    body: { units: 13, ...half },
    invoices: ["115.0000"],
    notes: [],
  },
  amend: {
    settings: ahead,
    plan: "team",
    body: { units: 13, ...half, document: "amend" },
    invoices: ["145.0000", "100.0000"],
    notes: [],
  },
  // A renewal invoice that is re-priced and a credit note: an operation of each kind.
  credit: {
    settings: ahead,
    plan: "bands",
    body: { units: 11, ...half, document: "amend" },
    invoices: ["88.0000", "100.0000"],
    notes: ["6.0000"],
  },
} as const satisfies Record<string, Case>;

const names = Object.keys(cases) as readonly (keyof typeof cases)[];

/** A subscription in a new organisation on 16 April, and the change. */
async function prepared(system: TestSystem, builder: UnitsBuilder, { settings, plan, body }: Case) {
  const own = await builder.sandbox(settings);
  await addBands(system, own);
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01", plan_code: plan });
  const what: Post = {
    path: `/v1/subscriptions/${id}/units`,
    key: own.apiKey,
    idempotencyKey: "the-key",
    body,
  };
  return { own, id, what };
}

/** The first answer and a later one: the same bytes, and the later one marked as a replay. */
async function retried(system: TestSystem, what: Post): Promise<Answered> {
  const first = await postUntil(system.baseUrl, what, 200);
  const again = await postUntil(system.baseUrl, what, 200);
  expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
  return first;
}

/**
 * Asserts that the change was applied once: one row, its documents, and nothing else, here and in
 * the ledger.
 */
async function expectChangedOnce(
  system: TestSystem,
  builder: UnitsBuilder,
  own: CreatedOrganisation,
  id: string,
  expected: Case,
  { json }: Answered,
): Promise<void> {
  await builder.expectEqualDocuments(own);
  const changes = await tables(system.pool).unitChange.findMany({ where: { subscriptionId: id } });
  expect(changes.map(({ toUnits }) => toUnits)).toEqual([json.change.units]);
  expect((await builder.subscription(own, id)).units).toBe(json.change.units);
  const subtotals = (documents: readonly Json[]) => documents.map(({ subtotal }) => subtotal);
  const [invoices, notes] = [await builder.invoices(own, id), await builder.creditNotes(own, id)];
  expect([subtotals(invoices), subtotals(notes)]).toEqual([expected.invoices, expected.notes]);
  const { invoice, renewal_invoice, credit_note } = json.change;
  expect((invoice ?? renewal_invoice).id).toBe(invoices[0]?.id);
  expect(credit_note).toBe(notes[0]?.id ?? null);
  const booked =
    "SELECT sub_total::text AS subtotal FROM demo_ledger.credit_notes WHERE tenant_id = $1";
  const inLedger = await system.pool.query<{ subtotal: string }>(booked, [own.tenantId]);
  expect(inLedger.rows.map(({ subtotal }) => `${subtotal}00`)).toEqual(expected.notes);
  for (const document of [...invoices, ...notes])
    expect(document.ledger).toMatchObject({ sync_status: "synced" });
}

describe.concurrent("an API killed in a change leaves a usable key and one change:", () => {
  const each = ofApi.flatMap((point) =>
    begun
      .filter((name) => name === "join" || !unwritten.includes(point))
      .map((name) => [point, name] as const),
  );
  test.for(each)("%s, %s", async ([point, name], { system, builder }) => {
    const { own, id, what } = await prepared(system, builder, cases[name]);
    await dieOf(system, point, what);
    await expectChangedOnce(system, builder, own, id, cases[name], await retried(system, what));
  });
});

test("workers killed at each step of posting changes leave each document posted once", async ({
  system,
  builder,
}) => {
  const batches = [];
  for (const point of amendmentCrashPoints) {
    batches.push({
      point,
      changes: await Promise.all(
        names.map(async (name) => ({ name, ...(await prepared(system, builder, cases[name])) })),
      ),
    });
  }
  await system.worker.stop();
  const answers: Promise<readonly Answered[]>[] = [];
  // Each worker dies of new changes. Later workers also meet what it left undone.
  for (const { point, changes } of batches) {
    answers.push(Promise.all(changes.map(({ what }) => retried(system, what))));
    const organisationIds = changes.map(({ own }) => own.organisationId);
    const waiting = { organisationId: { in: organisationIds }, state: "ready" };
    await until("all of them wait", async () => (await countJobs(system.pool, waiting)) === 4);
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
  }
  await system.worker.start();
  for (const [trial, { changes }] of batches.entries()) {
    const created = (await answers[trial]) ?? [];
    for (const [index, { name, own, id }] of changes.entries()) {
      await expectChangedOnce(system, builder, own, id, cases[name], created[index] as Answered);
    }
  }
});
