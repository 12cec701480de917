/**
 * Credit notes and their allocations through SIGKILL of the worker at every step, lost answers, and
 * a ledger that is down: one note, and exactly its credit on the right invoices in the ledger.
 * UNITS-5, DOCUMENT-4, INVARIANT-3.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { allocationCrashPoints, postingCrashPoints } from "../support/crash-points.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { newestJob, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import {
  addSubscription,
  bookedCredit,
  type CreditBook,
  expectSameCredit,
  issueCredit,
  issueInvoice,
  spendCredit,
} from "../worker/activities/issue-credit.ts";
import { untilPosted } from "./ledger-documents.ts";

/** An organisation whose invoices are created approved. */
function addOrganisation(system: TestSystem): Promise<CreatedOrganisation> {
  return system.organisation({}, { first_invoice_status: "approved" });
}

/**
 * A subscription with credit of 12 and 36 (with tax), and a later invoice that could take it all
 * twice, waiting for the ledger.
 */
async function issueAll(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<void> {
  const subscriptionId = await addSubscription(system.pool, organisationId);
  for (const amount of ["10", "30"])
    await issueCredit(system.pool, organisationId, subscriptionId, amount);
  await issueInvoice(system.pool, organisationId, subscriptionId, "90");
}

/** Both notes used up on the invoice, by one allocation each. */
const applied: readonly Partial<CreditBook>[] = [
  {
    number: "CN-0001",
    status: "PAID",
    remaining: "0.00",
    allocations: [{ invoice: "INV-0001", amount: "12.00" }],
  },
  {
    number: "CN-0002",
    status: "PAID",
    remaining: "0.00",
    allocations: [{ invoice: "INV-0001", amount: "36.00" }],
  },
];

async function expectApplied(system: TestSystem, organisation: CreatedOrganisation): Promise<void> {
  await until("both notes are used up", async () => {
    await untilPosted(system, organisation.organisationId);
    const unused = { organisationId: organisation.organisationId, status: { not: "paid" } };
    return (await tables(system.pool).creditNote.count({ where: unused })) === 0;
  });
  const { notes, invoices } = await expectSameCredit(system.pool, organisation);
  expect(notes).toMatchObject(applied);
  expect(invoices).toEqual([{ number: "INV-0001", status: "AUTHORISED", due: "60.00" }]);
  const shown = await system.ask("GET", "/v1/credit_notes?limit=1", { key: organisation.apiKey });
  expect(shown.json.data[0]).toMatchObject({
    number: "CN-0002",
    status: "paid",
    total: "36.0000",
    remaining_credit: "0.0000",
    allocation_status: "applied",
    ledger: { sync_status: "synced", sync_error: null },
    allocations: [{ amount: "36.0000", status: "active", ledger_sync_status: "synced" }],
  });
}

/** The worker is started so that it dies of the work that waits. */
async function dieAt(system: TestSystem, point: string): Promise<void> {
  // It may die before it reports that it is ready, so its start is not awaited.
  void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
  await system.worker.exited();
}

/** Records a payment of the organisation's only invoice in the ledger. */
async function pay(
  system: TestSystem,
  { tenantId }: CreatedOrganisation,
  amount: string,
): Promise<void> {
  const text = "SELECT invoice_id FROM demo_ledger.invoices WHERE tenant_id = $1";
  const { rows } = await system.pool.query<{ invoice_id: string }>(text, [tenantId]);
  const invoices = `${system.demoUrl}/demo/tenants/${tenantId}/invoices`;
  const path = `${invoices}/${rows[0]?.invoice_id}/payments`;
  const headers = { "content-type": "application/json" };
  const paid = await fetch(path, { method: "POST", headers, body: JSON.stringify({ amount }) });
  expect(paid.status).toBe(200);
}

test("killed workers create every note and allocation once, within the amount due", async ({
  system,
}) => {
  await system.worker.stop();
  const paid = await addOrganisation(system);
  await issueAll(system, paid);
  await dieAt(system, "allocation_taken");
  await pay(system, paid, "100");
  const others: CreatedOrganisation[] = [];
  // Each worker dies of new work. Later workers also meet what it left undone.
  for (const point of [...postingCrashPoints, ...allocationCrashPoints]) {
    const organisation = await addOrganisation(system);
    await issueAll(system, organisation);
    others.push(organisation);
    await dieAt(system, point);
  }
  await system.worker.start();
  for (const organisation of others) await expectApplied(system, organisation);
  await until("the invoice is paid", async () => {
    await untilPosted(system, paid.organisationId);
    const where = { organisationId: paid.organisationId, status: "paid" };
    return tables(system.pool).invoice.findFirst({ where });
  });
  // 8.00 was left of 108.00.
  const { notes } = await expectSameCredit(system.pool, paid);
  expect(notes).toMatchObject([
    {
      status: "AUTHORISED",
      remaining: "4.00",
      allocations: [{ invoice: "INV-0001", amount: "8.00" }],
    },
    { status: "AUTHORISED", remaining: "36.00", allocations: [] },
  ]);
});

describe.concurrent("a credit note with lost answers is created and applied once:", () => {
  const notes = "PUT /api.xro/2.0/CreditNotes?";
  const allocations = "/Allocations";
  // The system's calls to the ledger may take two seconds.
  test.for([
    ["the note's request never came", [{ kind: "drop_before", match: notes }]],
    ["the note's answer was cut off", [{ kind: "drop_after", match: notes }]],
    ["the allocation's request never came", [{ kind: "drop_before", match: allocations }]],
    ["the allocation's answer was cut off", [{ kind: "drop_after", match: allocations }]],
    [
      "the allocation was done after we had given up",
      [{ kind: "slow_before", match: allocations, delayMs: 2_500 }],
    ],
    [
      "every first answer was cut off",
      ["Invoices", "CreditNotes?", "CreditNotes/"].map((name) => ({
        kind: "drop_after",
        match: `PUT /api.xro/2.0/${name}`,
      })),
    ],
  ] as const)("%s", async ([_, faults], { system }) => {
    const organisation = await addOrganisation(system);
    for (const fault of faults) await system.fault({ ...fault, tenantId: organisation.tenantId });
    await issueAll(system, organisation);
    await expectApplied(system, organisation);
  });
});

test("a note with a lost answer whose credit was used in the ledger is credited once", async ({
  system,
}) => {
  // Every fault of the tests before has happened.
  expect((await (await fetch(`${system.demoUrl}/demo/faults`)).json()) as object).toEqual({
    left: 0,
  });
  const organisation = await addOrganisation(system);
  const { organisationId, tenantId } = organisation;
  const subscriptionId = await addSubscription(system.pool, organisationId);
  await issueInvoice(system.pool, organisationId, subscriptionId, "50");
  await untilPosted(system, organisationId);
  await system.fault({ kind: "drop_after", match: "PUT /api.xro/2.0/CreditNotes?", tenantId });
  await system.fault({
    kind: "drop_before",
    match: "GET /api.xro/2.0/CreditNotes/",
    times: 1_000,
    tenantId,
  });
  await issueCredit(system.pool, organisationId, subscriptionId, "10");
  await until(
    "the ledger has the note",
    async () => (await bookedCredit(system.pool, organisation)).length > 0,
  );
  await spendCredit(system.pool, organisation, "4", "INV-0001");
  await system.clearFaults();
  await issueInvoice(system.pool, organisationId, subscriptionId, "50");
  await untilPosted(system, organisationId);
  const { notes, invoices } = await expectSameCredit(system.pool, organisation);
  expect(notes).toMatchObject([
    {
      number: "CN-0001",
      status: "PAID",
      total: "12.00",
      allocations: [
        { invoice: "INV-0001", amount: "4.00" },
        { invoice: "INV-0002", amount: "8.00" },
      ],
    },
  ]);
  expect(invoices).toMatchObject([{ due: "56.00" }, { due: "52.00" }]);
});

test("credit notes and allocations wait for a ledger that is down, then are posted", async ({
  system,
}) => {
  const organisation = await addOrganisation(system);
  await system.stopLedger();
  await issueAll(system, organisation);
  const { organisationId } = organisation;
  const tried = { organisationId, kind: "create_credit_note", attempts: { gt: 0 } };
  await until("the notes were tried", () => newestJob(system.pool, tried));
  const shown = await system.ask("GET", "/v1/credit_notes", { key: organisation.apiKey });
  expect(shown.json.data[0]).toMatchObject({
    status: "scheduled",
    allocation_status: "unapplied",
    allocations: [],
  });
  await system.startLedger();
  await expectApplied(system, organisation);
});
