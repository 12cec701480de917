/**
 * The ledger loses requests and answers, fails, limits and refuses: still one document, or a reason
 * in the answer. POSTING-2, POSTING-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import {
  createSynced,
  endPause,
  expectOneDocumentEach,
  scheduled,
  shownInvoice,
  subscriptionPost,
  synced,
} from "./ledger-documents.ts";
import { lateAnswerMs, postUntilCreated, promptAnswerMs } from "./processes.ts";

async function create(
  system: TestSystem,
  organisation: CreatedOrganisation,
  idempotencyKey = "first",
  units = 10,
): Promise<Answered> {
  return postUntilCreated(system.baseUrl, subscriptionPost(organisation, idempotencyKey, units));
}

/** How often the ledger was called to create documents, by the faults that it had prepared. */
async function faultsLeft(system: TestSystem): Promise<number> {
  const answer = await fetch(`${system.demoUrl}/demo/faults`);
  const { left } = (await answer.json()) as { left: number };
  return left;
}

describe.concurrent("an invoice whose answer was lost is in the ledger once:", () => {
  // The system's calls to the ledger may take two seconds.
  test.for([
    ["the request never came", { kind: "drop_before", match: "PUT /api.xro/2.0/Invoices" }],
    ["the answer was cut off", { kind: "drop_after", match: "PUT /api.xro/2.0/Invoices" }],
    [
      "the answer came too late",
      { kind: "slow_after", match: "PUT /api.xro/2.0/Invoices", delayMs: 3_000 },
    ],
    [
      "it was done after we had given up",
      { kind: "slow_before", match: "PUT /api.xro/2.0/Invoices", delayMs: 2_500 },
    ],
    [
      "a gateway answered 503 in HTML",
      { kind: "status", match: "PUT /api.xro/2.0/Invoices", status: 503 },
    ],
    [
      "it answered 500",
      { kind: "status", match: "PUT /api.xro/2.0/Invoices", status: 500, body: "{}" },
    ],
    [
      "the look-up failed as well",
      { kind: "drop_after", match: "/api.xro/2.0/Invoices", times: 2 },
    ],
    [
      "its first token was refused",
      { kind: "status", match: "PUT /api.xro/2.0/Invoices", status: 401, body: "{}" },
    ],
  ] as const)("%s", async ([_, fault], { system }) => {
    const organisation = await system.organisation();
    await system.fault({ ...fault, tenantId: organisation.tenantId });
    const created = await create(system, organisation);
    await expectOneDocumentEach(system, organisation, 1);
    expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
  });
});

describe.concurrent("a refusal of the ledger is in the answer with its reason:", () => {
  test("the number belongs to an invoice of someone else", async ({ system }) => {
    const organisation = await system.organisation();
    await create(system, organisation);
    await system.pool.query(
      "UPDATE demo_ledger.invoices SET number = 'INV-0002' WHERE tenant_id = $1",
      [organisation.tenantId],
    );
    const created = await create(system, organisation, "second", 11);
    const message = "The number INV-0002 is taken by another invoice in the ledger.";
    expect(created.json.invoice).toMatchObject({
      number: "INV-0002",
      status: "not_in_external",
      ledger: { sync_status: "failed", sync_error: message, invoice_id: null },
    });
    expect(await system.ledgerInvoices(organisation.tenantId)).toHaveLength(1);
  });

  test("the contact was archived", async ({ system }) => {
    const organisation = await system.organisation();
    await system.pool.query(
      "UPDATE demo_ledger.contacts SET status = 'ARCHIVED' WHERE tenant_id = $1",
      [organisation.tenantId],
    );
    const created = await create(system, organisation);
    expect(created.json.invoice).toMatchObject({
      status: "not_in_external",
      ledger: { sync_status: "failed", sync_error: expect.stringMatching(/archived/i) },
    });
    expect(await system.ledgerInvoices(organisation.tenantId)).toEqual([]);
  });
});

test("posting waits out a limit of the ledger without a call, then completes", async ({
  system,
}) => {
  const organisation = await system.organisation();
  const refusals = {
    kind: "rate_limit",
    match: "PUT /api.xro/2.0/Invoices",
    times: 2,
    retryAfterSeconds: 3,
  };
  await system.fault({ ...refusals, tenantId: organisation.tenantId });
  const started = performance.now();
  const posts = Array.from({ length: 8 }, (_, index) =>
    subscriptionPost(organisation, `key-${index}`),
  );
  await Promise.all(posts.map((what) => createSynced(system, what)));
  // Two refusals of three seconds each, however many documents wait.
  expect(performance.now() - started).toBeGreaterThan(6_000);
  expect(await faultsLeft(system)).toBe(0);
  await expectOneDocumentEach(system, organisation, 8);
});

test("a creation beyond a limit of the ledger answers at once and is posted later", async ({
  system,
}) => {
  const organisation = await system.organisation();
  const refusal = {
    kind: "rate_limit",
    match: "PUT /api.xro/2.0/Invoices",
    problem: "day",
    retryAfterSeconds: 3_600,
  };
  await system.fault({ ...refusal, tenantId: organisation.tenantId });
  const started = performance.now();
  const [first, second] = [
    await create(system, organisation),
    await create(system, organisation, "second"),
  ];
  expect(performance.now() - started).toBeLessThan(promptAnswerMs);
  for (const { json } of [first, second]) expect(json.invoice).toMatchObject(scheduled);
  const { rows } = await system.pool.query(
    `SELECT paused_reason, paused_until > now() + interval '50 minutes' AS is_paused
      FROM ledger_connections WHERE organisation_id = $1`,
    [organisation.organisationId],
  );
  expect(rows).toEqual([{ paused_reason: "day limit", is_paused: true }]);
  await endPause(system, organisation.organisationId);
  await expectOneDocumentEach(system, organisation, 2);
});

test("an invoice is scheduled while the ledger is down, and posted afterwards", async ({
  system,
}) => {
  const organisation = await system.organisation();
  await system.stopLedger();
  const started = performance.now();
  const created = await create(system, organisation);
  expect(performance.now() - started).toBeLessThan(lateAnswerMs);
  expect(created.json.invoice).toMatchObject(scheduled);
  await system.startLedger();
  await expectOneDocumentEach(system, organisation, 1);
  expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
  await until("the answer to a repeat is still the first one", async () => {
    const again = await create(system, organisation);
    return again.text === created.text;
  });
});
