/**
 * Builder for tests of change units: sandboxes on a day of April 2026, subscriptions, changes, and
 * the comparison of the ledger's documents with ours.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { expectAllPublished } from "../support/published-events.ts";
import { jobsOf, openJobs, setOrganisation } from "../support/rows.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { addLike, addTiers } from "./row-builder.ts";

/** The parsed body of an answer. */
export type Json = Answered["json"];

/**
 * An invoice as the ledger has it: amounts with two places; each line as its text and amount, in
 * order.
 */
interface LedgerInvoice {
  readonly number: string;
  readonly status: string;
  readonly subtotal: string;
  readonly total: string;
  readonly lines: readonly (readonly [description: string, amount: string])[];
}

/** Creates subscriptions and changes their units. */
export interface UnitsBuilder {
  /**
   * Creates a sandbox whose clock stands at noon UTC on 1 April 2026, in a zone in which that is
   * the same day.
   */
  sandbox(changes?: Record<string, unknown>, currency?: string): Promise<CreatedOrganisation>;
  /** Moves its clock; a bare date is noon UTC of that day. */
  setClock(organisation: CreatedOrganisation, instant: string): Promise<void>;
  /**
   * Creates a subscription of ACME, by default `team` at 10.00 a unit. Returns once its documents
   * are in the ledger.
   */
  subscribe(organisation: CreatedOrganisation, body?: object): Promise<Json>;
  change(
    organisation: CreatedOrganisation,
    id: string,
    body: unknown,
    idempotencyKey?: string,
  ): Promise<Answered>;
  /** The body of a change that succeeds. */
  changed(organisation: CreatedOrganisation, id: string, body: object): Promise<Json>;
  /** A subscription as it is read now. */
  subscription(organisation: CreatedOrganisation, id: string): Promise<Json>;
  /** A subscription's invoices, newest first. */
  invoices(organisation: CreatedOrganisation, id: string): Promise<readonly Json[]>;
  creditNotes(organisation: CreatedOrganisation, id: string): Promise<readonly Json[]>;
  /** Waits until the ledger has decided on everything of the organisation. */
  posted(organisation: CreatedOrganisation): Promise<void>;
  inLedger(organisation: CreatedOrganisation): Promise<readonly LedgerInvoice[]>;
  /**
   * Waits until nothing is pending, then asserts that the ledger has exactly our invoices of the
   * organisation, with our lines and totals, and that every change was published.
   */
  expectEqualDocuments(organisation: CreatedOrganisation): Promise<void>;
}

/** The builder over a system. */
export function unitsBuilder(system: TestSystem, ask: Ask): UnitsBuilder {
  let keys = 0;
  // One at a time, because each is a long transaction whose start has a limit of two seconds, and
  // tests run concurrently.
  let last: Promise<unknown> = Promise.resolve();
  const get = async ({ apiKey }: CreatedOrganisation, path: string): Promise<Json> => {
    const answer = await ask("GET", path, { key: apiKey });
    expect(answer.status, answer.text).toBe(200);
    return answer.json;
  };
  /** All jobs for the ledger with their states, as one text; null while one is undecided. */
  const decided = async ({ organisationId }: CreatedOrganisation): Promise<string | null> => {
    if ((await openJobs(system.pool, organisationId)) > 0) return null;
    const jobs = await jobsOf(system.pool, { organisationId });
    return jobs.map(({ id, state, attempts }) => `${id} ${state} ${attempts}`).join();
  };
  const builder: UnitsBuilder = {
    sandbox: (changes = {}, currency = "NZD") => {
      const own = { livemode: false, timezone: "Europe/Paris", currency };
      const created = last.then(() =>
        system.organisation(own, { test_clock: "2026-04-01T12:00:00Z", ...changes }),
      );
      last = created.catch(() => undefined);
      return created;
    },
    setClock: async ({ organisationId }, instant) => {
      const at = instant.includes("T") ? instant : `${instant}T12:00:00Z`;
      await setOrganisation(system.pool, organisationId, { testClock: new Date(at) });
    },
    subscribe: async (organisation, body = {}) => {
      const requested = { customer_code: "ACME", plan_code: "team", units: 10, ...body };
      const priced = requested.plan_code === "team" ? { price: "10", ...requested } : requested;
      const answer = await ask("POST", "/v1/subscriptions", {
        key: organisation.apiKey,
        idempotencyKey: `subscription-${++keys}`,
        body: priced,
      });
      expect(answer.status, answer.text).toBe(201);
      await builder.posted(organisation);
      return answer.json;
    },
    change: ({ apiKey }, id, body, idempotencyKey) =>
      ask("POST", `/v1/subscriptions/${id}/units`, {
        key: apiKey,
        body,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      }),
    changed: async (organisation, id, body) => {
      const answer = await builder.change(organisation, id, body);
      expect(answer.status, answer.text).toBe(200);
      return answer.json;
    },
    subscription: (organisation, id) => get(organisation, `/v1/subscriptions/${id}`),
    invoices: async (organisation, id) =>
      (await get(organisation, `/v1/invoices?subscription=${id}&limit=100`)).data,
    creditNotes: async (organisation, id) =>
      (await get(organisation, `/v1/credit_notes?subscription=${id}&limit=100`)).data,
    posted: async ({ organisationId }) => {
      await until(
        "the ledger has decided on everything",
        async () => (await openJobs(system.pool, organisationId)) === 0,
      );
    },
    inLedger: ({ tenantId }) => loadLedgerInvoices(system, tenantId),
    expectEqualDocuments: async (organisation) => {
      const { ours, theirs } = await until(
        "the ledger has decided on everything, and nothing is issued while both are read",
        async () => {
          const before = await decided(organisation);
          if (before === null) return false;
          const { data } = await get(organisation, "/v1/invoices?limit=100");
          const booked = await builder.inLedger(organisation);
          // The billing run may act at any moment after a test has moved the clock.
          return (await decided(organisation)) === before && { ours: data, theirs: booked };
        },
      );
      // A document that was abandoned before it was sent is deleted here and was never in the
      // ledger.
      const sent = ours.filter(
        (invoice: Json) => invoice.status !== "deleted" || invoice.ledger.invoice_id !== null,
      );
      expect(theirs).toEqual(sent.map(ledgerForm).sort(byNumber));
      await expectAllPublished(system.pool, [organisation.organisationId]);
    },
  };
  return builder;
}

/**
 * A volume plan `bands`: ten units and fewer cost 10 each, from eleven on all of them 8. Free of a
 * minimum.
 */
export async function addBands(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<void> {
  const planId = await addLike(system.pool, "plans", organisationId, "scale", {
    code: "bands",
    name: "Bands",
    free_units: 0,
  });
  await addTiers(system.pool, organisationId, planId, [
    [10, "10", null],
    [null, "8", null],
  ]);
}

/** The words of the ledger for our statuses. */
const ledgerWords: Readonly<Record<string, string>> = {
  draft: "DRAFT",
  awaiting_approval: "SUBMITTED",
  approved: "AUTHORISED",
  paid: "PAID",
  voided: "VOIDED",
  deleted: "DELETED",
};

/** Converts one of our invoices, as the API shows it, to the form of the ledger. */
function ledgerForm(invoice: Json): LedgerInvoice {
  return {
    number: invoice.number,
    status: ledgerWords[invoice.status] ?? invoice.status,
    subtotal: invoice.subtotal.slice(0, -2),
    total: invoice.total.slice(0, -2),
    lines: invoice.lines.map((line: Json) => [
      line.description === "" ? line.name : `${line.name}: ${line.description}`,
      line.amount.slice(0, -2),
    ]),
  };
}

function byNumber(left: LedgerInvoice, right: LedgerInvoice): number {
  return left.number < right.number ? -1 : 1;
}

interface LedgerInvoiceRow {
  number: string;
  status: string;
  subtotal: string;
  total: string;
  lines: readonly { readonly description: string; readonly lineAmount: string }[];
}

async function loadLedgerInvoices(
  { pool }: TestSystem,
  tenantId: string,
): Promise<readonly LedgerInvoice[]> {
  const { rows } = await pool.query<LedgerInvoiceRow>(
    `SELECT number, status, sub_total::text AS subtotal, total::text AS total, lines
      FROM demo_ledger.invoices WHERE tenant_id = $1 ORDER BY number`,
    [tenantId],
  );
  return rows.map(({ lines, ...row }) => ({
    ...row,
    // If units × price is not the amount, the ledger's adapter appends both to the text.
    lines: lines.map((line) => [line.description, line.lineAmount] as const),
  }));
}
