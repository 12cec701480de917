/**
 * The database goes back while the ledger keeps its documents. After the reconciliation the same
 * requests and renewals lead to the same documents: nothing is billed twice, and no number is used
 * again. LEDGER-19
 */
import fc from "fast-check";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { type BillingRuns, billingRuns } from "../support/billing.ts";
import { bookkeeper } from "../support/bookkeeper.ts";
import { type FreshDatabase, freshDatabase } from "../support/database.ts";
import "../support/fixed-seed.ts";
import { testPool } from "../support/pool.ts";
import { newestJob, setOrganisation } from "../support/rows.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { backUp } from "./database-backup.ts";
import { untilPosted } from "./ledger-documents.ts";
import { postUntilDecided } from "./processes.ts";

/** One thing that happens after the backup. It has a key, so that a platform repeats it. */
type Step =
  | { readonly kind: "create"; readonly customer: string; readonly units: number }
  | { readonly kind: "change"; readonly subscription: number; readonly units: number }
  | { readonly kind: "end"; readonly subscription: number; readonly isVoiding: boolean }
  | { readonly kind: "renew" };

/** A document that counts in the ledger. */
interface LedgerDocument {
  readonly id: string;
  readonly number: string;
  readonly total: string;
}

/** What a change of units needs to know. */
interface Changeable {
  readonly units: number;
  readonly today: string;
  readonly isInvoicedAhead: boolean;
}

/** The reconciliation of an organisation: what it found. */
interface Reconciled {
  readonly number: string;
  readonly state: string;
  readonly customer: string;
}

const customers = ["ACME", "GLOBEX", "INITECH"];
const start = "2026-03-10T09:00:00Z";
/** After the renewal of 10 April, and within 20 days of the next one. */
const renewal = "2026-04-22T09:00:00Z";

let ledgerDatabase: FreshDatabase;
let ledgerPool: pg.Pool;
let system: TestSystem;
let operator: string;

beforeAll(async () => {
  ledgerDatabase = await freshDatabase();
  ledgerPool = testPool(ledgerDatabase.url, 2);
  system = await startSystem({ ledgerDatabaseUrl: ledgerDatabase.url });
  operator = await system.operator();
});

afterAll(async () => {
  await system?.stop();
  await ledgerPool?.end();
  await ledgerDatabase?.drop();
});

const sandbox = (invoiceCreateDays = 0) =>
  system.organisation(
    { livemode: false },
    {
      test_clock: new Date(start),
      first_invoice_status: "approved",
      invoice_create_days: invoiceCreateDays,
    },
  );

/**
 * Performs a step. A repeat of it has the same key and the same body. `subscriptions` are those
 * that run. A change or an end without one does nothing. `isRepeat` is true after the restore.
 */
async function perform(
  runs: BillingRuns,
  { organisationId, apiKey }: CreatedOrganisation,
  step: Step,
  index: number,
  subscriptions: string[],
  isRepeat = false,
): Promise<void> {
  // On a busy machine the ledger may take longer than an answer, and a repeat gets the outcome.
  const ask = (path: string, body: object) =>
    postUntilDecided(system.baseUrl, { path, key: apiKey, idempotencyKey: `step-${index}`, body });
  switch (step.kind) {
    case "create": {
      const body = { customer_code: step.customer, plan_code: "team", units: step.units };
      const created = await ask("/v1/subscriptions", body);
      expect(created.status, created.text).toBe(201);
      subscriptions.push(created.json.id);
      break;
    }
    case "change": {
      const id = subscriptions[step.subscription % subscriptions.length];
      if (id === undefined) return;
      const { rows } = await system.pool.query<Changeable>(
        `SELECT s.units, (o.test_clock AT TIME ZONE s.timezone)::date::text AS today,
            EXISTS (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.type = 'renewal'
              AND i.period_index = s.current_period + 1) AS "isInvoicedAhead"
          FROM subscriptions s JOIN organisations o ON o.id = s.organisation_id WHERE s.id = $1`,
        [id],
      );
      const [found] = rows;
      const answer = await ask(`/v1/subscriptions/${id}/units`, {
        units: (found?.units ?? 0) + step.units,
        prorate: true,
        effective_date: found?.today,
        ...(found?.isInvoicedAhead && { document: "separate" }),
      });
      expect(answer.status, answer.text).toBe(200);
      break;
    }
    case "end": {
      const [id] = subscriptions.splice(step.subscription % subscriptions.length, 1);
      if (id === undefined) return;
      const body = { when: "now", void_approved_invoices: step.isVoiding };
      const answer = await ask(`/v1/subscriptions/${id}/end`, body);
      expect(answer.status, answer.text).toBe(200);
      break;
    }
    case "renew":
      await setOrganisation(system.pool, organisationId, { testClock: new Date(renewal) });
      await runs.untilDone(organisationId);
  }
  // A document that was removed after the backup waits while others of its customer are open.
  if (!isRepeat) await untilPosted(system, organisationId);
}

async function standing({ tenantId }: CreatedOrganisation): Promise<readonly LedgerDocument[]> {
  const { rows } = await ledgerPool.query<LedgerDocument>(
    `SELECT invoice_id::text AS id, number, total::text FROM demo_ledger.invoices
      WHERE tenant_id::text = $1 AND status NOT IN ('VOIDED', 'DELETED')
      UNION ALL SELECT credit_note_id::text, number, total::text FROM demo_ledger.credit_notes
      WHERE tenant_id::text = $1 AND status NOT IN ('VOIDED', 'DELETED') ORDER BY number`,
    [tenantId],
  );
  return rows;
}

/** Reads page after page, as `billing ledger reconcile` does. */
async function reconcile({ organisationId }: CreatedOrganisation): Promise<Reconciled[]> {
  const found: Reconciled[] = [];
  let cursor: string | undefined;
  do {
    const body = { organisation: organisationId, ...(cursor === undefined ? {} : { cursor }) };
    const method = "LedgerReconciliationService/ReconcileLedger";
    const { status, json, text } = await system.askAdmin(method, { key: operator, body });
    expect(status, text).toBe(200);
    found.push(...(json.data ?? []));
    cursor = json.nextCursor;
  } while (cursor !== undefined);
  return found;
}

/** Every document of the ledger has one here, with its number, and no other one counts. */
async function expectOneEach(organisation: CreatedOrganisation): Promise<void> {
  const { rows } = await system.pool.query<Pick<LedgerDocument, "id" | "number">>(
    `SELECT ledger_invoice_id AS id, number FROM invoices
      WHERE organisation_id = $1 AND status NOT IN ('voided', 'deleted')
      UNION ALL SELECT ledger_credit_note_id, number FROM credit_notes
      WHERE organisation_id = $1 AND status NOT IN ('voided', 'deleted') ORDER BY number`,
    [organisation.organisationId],
  );
  const ledger = await standing(organisation);
  expect(rows).toEqual(ledger.map(({ id, number }) => ({ id, number })));
}

const stepOf: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("create" as const),
    customer: fc.constantFrom(...customers),
    units: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({
    kind: fc.constant("change" as const),
    subscription: fc.nat(5),
    units: fc.integer({ min: 1, max: 3 }),
  }),
);

/** Ends within the invoice window: the renewal invoice goes, and what a change billed of it. */
const endOf: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("end" as const),
  subscription: fc.nat(5),
  isVoiding: fc.boolean(),
});

/** Two lives of an organisation: before the backup, and after it with a renewal in between. */
const lifeOf = fc.record({
  before: fc.integer({ min: 1, max: 3 }),
  early: fc.array(stepOf, { minLength: 1, maxLength: 3 }),
  late: fc.array(stepOf, { maxLength: 2 }),
  ends: fc.array(endOf, { maxLength: 2 }),
});

/** The last change bills a part of the next period, so that its end issues a credit note. */
const creditedEnd: readonly Step[] = [
  { kind: "change", subscription: 0, units: 2 },
  { kind: "end", subscription: 0, isVoiding: false },
];

/**
 * No two creations are equal. Otherwise a document could be taken by the wrong one of two equal
 * subscriptions, and the end of that one may be refused because the other's was paid.
 */
const distinct = (steps: readonly Step[]): Step[] =>
  steps.map((step, index) => (step.kind === "create" ? { ...step, units: 2 + 20 * index } : step));

test.each([
  ["without links", {}],
  ["with links", { PUBLIC_URL: "https://billing.example" }],
])("random ledgers %s are billed once after a restore", async (_, env) => {
  await Promise.all([system.api.stop(), system.worker.stop()]);
  await Promise.all([system.api.start(env), system.worker.start(env)]);
  const lives = await Promise.all(
    fc.sample(lifeOf, 4).map(async ({ before, early, late, ends }, index) => {
      const hasEnds = index % 2 === 0;
      const organisation = await sandbox(hasEnds ? 20 : 0);
      const first: Step[] = Array.from({ length: before }, (_, one) => {
        return { kind: "create", customer: customers[(index + one) % 3] ?? "ACME", units: 2 };
      });
      const life: Step[] = [...first, ...early, { kind: "renew" }, ...late];
      const steps = hasEnds ? distinct([...life, ...creditedEnd, ...ends]) : life;
      const subscriptions: string[] = [];
      return {
        organisation,
        first: steps.slice(0, before),
        steps: steps.slice(before),
        subscriptions,
        hasEnds,
      };
    }),
  );
  let runs = await billingRuns(system);
  for (const { organisation, first, subscriptions } of lives)
    for (const [at, step] of first.entries())
      await perform(runs, organisation, step, at, subscriptions);
  const backup = await backUp(system, env);
  try {
    for (const life of lives) {
      const { organisation, first, steps } = life;
      const subscriptions = [...life.subscriptions];
      for (const [at, step] of steps.entries())
        await perform(runs, organisation, step, first.length + at, subscriptions);
      const paid = (await standing(organisation)).find(({ number }) => number.startsWith("INV-"));
      const hand = bookkeeper(ledgerPool, system.demoUrl, organisation.tenantId);
      if (paid !== undefined) await hand.pay(paid.number);
    }
    const documents = await Promise.all(lives.map(({ organisation }) => standing(organisation)));
    for (const [which, { hasEnds }] of lives.entries()) {
      const hasNote = documents[which]?.some(({ number }) => number.startsWith("CN-"));
      expect(hasNote, "a life with ends has a credit note").toBe(hasEnds);
    }
    await runs.close();
    await backup.restore();
    await system.api.start(env);
    for (const { organisation } of lives) {
      const found = await reconcile(organisation);
      expect(found.length).toBeGreaterThan(0);
      expect(found.every(({ customer }) => customer !== "")).toBe(true);
      // A repeat finds the same, also after the numbers were moved.
      expect(await reconcile(organisation)).toEqual(found);
    }
    await system.worker.start(env);
    runs = await billingRuns(system);
    for (const [which, { organisation, first, steps, subscriptions }] of lives.entries()) {
      for (const [at, step] of steps.entries())
        await perform(runs, organisation, step, first.length + at, subscriptions, true);
      await untilPosted(system, organisation.organisationId);
      expect(await standing(organisation)).toEqual(documents[which]);
      await expectOneEach(organisation);
      const last: Step = { kind: "create", customer: "ACME", units: 9 };
      await perform(runs, organisation, last, 99, subscriptions);
      await expectOneEach(organisation);
      expect(await standing(organisation)).toHaveLength((documents[which]?.length ?? 0) + 1);
    }
  } finally {
    await runs.close();
    await backup.drop();
  }
});

test("a document that differs from a lost one waits until an operator decides", async () => {
  const organisation = await sandbox();
  const runs = await billingRuns(system);
  const backup = await backUp(system);
  try {
    const subscriptions: string[] = [];
    const create = (units: number, index: number, customer = "ACME") =>
      perform(runs, organisation, { kind: "create", customer, units }, index, subscriptions);
    await create(3, 1);
    await create(4, 2);
    const [lost, other] = await standing(organisation);
    await backup.restore();
    await system.api.start();
    await reconcile(organisation);
    await system.worker.start();
    // Another customer's document is not held back, and gets a new number.
    await create(3, 3, "GLOBEX");
    expect((await standing(organisation)).map(({ number }) => number)).toEqual([
      lost?.number,
      other?.number,
      "INV-0003",
    ]);
    const body = { customer_code: "ACME", plan_code: "team", units: 5 };
    const key = { key: organisation.apiKey, idempotencyKey: "differs" };
    const created = await system.ask("POST", "/v1/subscriptions", { ...key, body });
    const invoice = created.json.invoice.id;
    const jobOf = () => newestJob(system.pool, { invoiceId: invoice });
    await until("it waits", async () => (await jobOf())?.reason?.includes("unknown") ?? false);
    expect(await standing(organisation)).toHaveLength(3);
    const resolve = (id: string | undefined, document?: string) =>
      system.askAdmin("LedgerReconciliationService/ResolveUnknownDocument", {
        key: operator,
        body: { organisation: organisation.organisationId, id, document },
      });
    expect((await resolve("none")).status).toBe(404);
    expect((await resolve(lost?.id, subscriptions[0])).status).toBe(404);
    const taken = await resolve(lost?.id, invoice);
    expect(taken.json.document, taken.text).toMatchObject({
      state: "UNKNOWN_DOCUMENT_STATE_ADOPTED",
      document: invoice,
    });
    await untilPosted(system, organisation.organisationId);
    const shown = await system.ask("GET", `/v1/invoices/${invoice}`, {
      key: organisation.apiKey,
    });
    expect(shown.json).toMatchObject({ number: lost?.number, ledger: { invoice_id: lost?.id } });
    expect((await resolve(lost?.id)).status).toBe(400);
    expect((await resolve(other?.id)).json.document.state).toBe("UNKNOWN_DOCUMENT_STATE_DISMISSED");
    await create(6, 4);
    expect(await standing(organisation)).toHaveLength(4);
  } finally {
    await runs.close();
    await backup.drop();
  }
});
