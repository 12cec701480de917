/** Documents that go to the ledger together: the trouble of one is never the trouble of another. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { countJobs, newestJob, tables } from "../support/rows.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import { postUntilDecided } from "./processes.ts";

const size = 5;
const invoicesPut = "PUT /api.xro/2.0/Invoices";

/**
 * What is created while the worker is stopped waits, and goes to the ledger as one group of each
 * organisation when it is back.
 */
async function inGroups<T>(system: TestSystem, work: () => Promise<T>, groups = 1): Promise<T> {
  await system.worker.stop();
  const answers = work();
  const waiting = { state: "ready" };
  await until(
    "all of them wait",
    async () => (await countJobs(system.pool, waiting)) >= size * groups,
  );
  await system.worker.start();
  return answers;
}

function create(
  system: TestSystem,
  organisation: CreatedOrganisation,
  count: number,
): Promise<Answered[]> {
  const body = { customer_code: "ACME", plan_code: "team", units: 10 };
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      system.ask("POST", "/v1/subscriptions", {
        key: organisation.apiKey,
        idempotencyKey: `n-${index}`,
        body,
      }),
    ),
  );
}

async function statuses(
  system: TestSystem,
  organisation: CreatedOrganisation,
): Promise<Record<string, number>> {
  const { rows } = await system.pool.query<{ status: string; n: number }>(
    "SELECT status, count(*)::int AS n FROM invoices WHERE organisation_id = $1 GROUP BY status",
    [organisation.organisationId],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

test("one invoice that always fails does not delay the others of its batch", async ({ system }) => {
  const failing = await system.organisation();
  const fault = {
    kind: "status",
    match: invoicesPut,
    status: 500,
    body: "{}",
    element: "INV-0002",
    times: 1_000,
  };
  await system.fault({ ...fault, tenantId: failing.tenantId });
  const denied: CreatedOrganisation[] = [];
  for (const status of [404, 413]) {
    const organisation = await system.organisation();
    await system.fault({
      kind: "status",
      match: invoicesPut,
      status,
      tenantId: organisation.tenantId,
      times: 2,
    });
    denied.push(organisation);
  }
  const all = [failing, ...denied];
  await inGroups(
    system,
    () => Promise.all(all.map((organisation) => create(system, organisation, size))),
    all.length,
  );
  for (const organisation of denied) {
    await until(
      "all are posted",
      async () => (await statuses(system, organisation)).draft === size,
    );
    expect(await system.ledgerInvoices(organisation.tenantId)).toHaveLength(size);
  }
  await until(
    "the others are posted",
    async () => (await statuses(system, failing)).draft === size - 1,
  );
  expect(await statuses(system, failing)).toEqual({ draft: size - 1, scheduled: 1 });
  expect(await system.ledgerInvoices(failing.tenantId)).toHaveLength(size - 1);
  await system.clearFaults();
});

test("one of two concurrent imports of a contact succeeds and the other is refused", async ({
  system,
}) => {
  const organisation = await system.organisation();
  const { rows } = await system.pool.query<{ contact_id: string }>(
    `INSERT INTO demo_ledger.contacts (contact_id, tenant_id, name, status)
      VALUES (gen_random_uuid(), $1, 'Twice Ltd', 'ACTIVE') RETURNING contact_id`,
    [organisation.tenantId],
  );
  const contact = rows[0]?.contact_id;
  const ask = (code: string, own: object) =>
    // A worker may take longer to start than an answer waits.
    postUntilDecided(system.baseUrl, {
      path: "/v1/customers",
      key: organisation.apiKey,
      idempotencyKey: code,
      body: { code, name: `Customer ${code}`, email: `${code}@twice.example`, ...own },
    });
  const answers = await inGroups(system, () =>
    Promise.all([
      ask("one", { ledger_contact_id: contact }),
      ask("two", { ledger_contact_id: contact }),
      ask("three", {}),
      ...[4, 5].map((n) => ask(`n${n}`, {})),
    ]),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 422]);
  const refused = answers.find(({ status }) => status === 422);
  expect(refused?.json.error).toMatchObject({
    code: "invalid_parameter",
    param: "ledger_contact_id",
  });
});

test("an invoice that was in the ledger before is never taken for ours", async ({ system }) => {
  const organisation = await system.organisation();
  const [first] = await create(system, organisation, 1);
  // The same invoice as if a person had created it under the next number.
  await system.pool.query(
    "UPDATE demo_ledger.invoices SET number = 'INV-0002' WHERE tenant_id = $1",
    [organisation.tenantId],
  );
  const body = { customer_code: "ACME", plan_code: "team", units: 10 };
  const second = await system.ask("POST", "/v1/subscriptions", {
    key: organisation.apiKey,
    idempotencyKey: "next",
    body,
  });
  expect(first?.json.invoice.subtotal).toBe(second.json.invoice.subtotal);
  expect(second.json.invoice).toMatchObject({
    status: "not_in_external",
    ledger: { sync_status: "failed" },
  });
});

test("a paused connection gets no call until its time, and waiting adds no pause", async ({
  system,
}) => {
  const organisation = await system.organisation();
  await system.fault({
    kind: "rate_limit",
    match: invoicesPut,
    tenantId: organisation.tenantId,
    retryAfterSeconds: 4,
  });
  const created = create(system, organisation, 1);
  const first = await until("the connection is paused", () => pauseOf(system, organisation));
  const [answer] = await created;
  expect(answer?.json.invoice.ledger.sync_status, answer?.text).toBe("synced");
  expect(await pauseOf(system, organisation)).toEqual(first);
  const { organisationId } = organisation;
  const sentAt = (await newestJob(system.pool, { organisationId }))?.firstSentAt;
  expect(first.getTime() - (sentAt?.getTime() ?? 0)).toBeGreaterThan(3_000);
});

async function pauseOf(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<Date | null | undefined> {
  const connection = tables(system.pool).ledgerConnection;
  return (await connection.findFirst({ where: { organisationId } }))?.pausedUntil;
}
