/**
 * Every kind of write of one organisation, over the same few subscriptions and their documents, for
 * tests that run them at the same time.
 */
import { randomBytes } from "node:crypto";
import { addDays, civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { Customer } from "../../../src/domain/customers/customer.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { decideCreation } from "../../../src/domain/subscriptions/create.ts";
import type { Quantity } from "../../../src/domain/usage/parse.ts";
import { createAdminStore } from "../../../src/store/admin/admin-store.ts";
import type { Actor } from "../../../src/store/admin/changes.ts";
import type { FoundUnknown } from "../../../src/store/admin/ledger/unknown-documents.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { requestOf } from "../../domain/subscriptions/creation-builder.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { testPool } from "../../support/pool.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import type { UsageFixture } from "../billing/usage-fixture.ts";
import { workersOf } from "./worker-writers.ts";
import { below, pick, type WriterParts } from "./writer-parts.ts";

/**
 * The writers of an organisation by name. A writer that has nothing to do writes nothing.
 */
export interface EveryWriter {
  readonly organisationId: string;
  readonly writers: Readonly<Record<string, () => Promise<unknown>>>;
  /**
   * Adds subscriptions, some with documents that the ledger has and some without. Replaces the
   * oldest ones.
   */
  renew(): Promise<void>;
}

/** The connections of writers. `close` ends them. */
interface WriterPools extends Pick<WriterParts, "pool" | "admin"> {
  close(): Promise<void>;
}

/** Opens connections to a fixture's database. */
export function writerPools(fixture: UsageFixture): WriterPools {
  const [pool, reading] = [
    testPool(fixture.url, 8, "writers"),
    testPool(fixture.url, 4, "writers-reading"),
  ];
  const admin = createAdminStore({ reading, writing: pool }, createEncryption(randomBytes(32)));
  const close = async () => {
    await Promise.all([pool.end(), reading.end()]);
  };
  return { pool, admin, close };
}

/** The number of subscriptions that are written at a time: few, so that the writers meet. */
const subscriptionCount = 4;

const actor: Actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "Test",
  requestId: null,
};

/**
 * The writers of a new sandbox that approves its first invoices and issues renewals ahead.
 */
export async function everyWriter(
  fixture: UsageFixture,
  { pool, admin }: WriterPools,
): Promise<EveryWriter> {
  const changes = {
    invoice_create_days: 14,
    usage_allowed: true,
    first_invoice_status: "approved",
  };
  const organisationId = await fixture.sandbox("2026-03-20", changes);
  await fixture.meter(organisationId, { code: "calls", plans: ["team", "scale"] });
  const ids: string[] = [];
  const parts: WriterParts = { pool, organisationId, ids, admin };
  const { postInvoices, ...workers } = workersOf(parts);
  const api = apiOf(parts);
  const post = async () => {
    await postInvoices();
    await workers["post credit notes"]();
  };
  return {
    organisationId,
    writers: { ...api, ...workers, "post invoices": postInvoices, ...adminOf(parts, post) },
    renew: async () => {
      const subscribe = (planCode: string) =>
        fixture.subscribe(organisationId, { planCode, startDate: "2026-03-01" });
      ids.push(await subscribe("team"));
      // The documents so far are posted to the ledger, and later ones are not.
      await postInvoices();
      ids.push(await subscribe("scale"));
      ids.splice(0, ids.length - subscriptionCount);
      // A subscription that is set to end can be restored.
      await api["end at period end"]?.().catch(unlessRefused);
      for (let step = 0; step < 3; step += 1) await workers["carry out an end"]();
    },
  };
}

/** Throws the error again, unless it is a refusal. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}

/** The instant on the organisation's clock. */
async function nowOf({ pool, organisationId }: WriterParts): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>(
    "SELECT coalesce(test_clock, now()) AS now FROM organisations WHERE id = $1",
    [organisationId],
  );
  return rows[0]?.now ?? new Date();
}

/** The writers of the API. */
function apiOf(parts: WriterParts): Record<string, () => Promise<unknown>> {
  const { pool, organisationId, ids } = parts;
  const store = createStore(pool);
  const writes = tenantWrites(pool, organisationId);
  const order = async () => ({ id: pick(ids), now: await nowOf(parts) });
  const end = async (when: "now" | "period_end") => {
    const removes = when === "now";
    const request = { when, deleteUnsentInvoices: removes, voidApprovedInvoices: removes };
    return writes.end(await order(), request);
  };
  return {
    create: async () => {
      const query = {
        subscriptionId: newId(),
        customerCode: "ACME",
        planCode: "team",
        chargeCodes: [],
      };
      const now = await nowOf(parts);
      const { subscriptions } = store.tenant(organisationId, now);
      const { facts, catalogueVersion } = await subscriptions.loadCreation(query);
      const request = requestOf({ ...query, units: 10 });
      const decision = decideCreation({ ...facts, now }, request);
      return subscriptions.saveCreation({
        subscriptionId: query.subscriptionId,
        requestHash: randomBytes(32),
        setupMode: facts.organisation.setupMode,
        catalogueVersion,
        decision,
        first: { invoiceId: newId(), jobId: newId() },
        awaitedUntil: new Date(),
      });
    },
    units: async () =>
      writes.changeUnits(await order(), ({ invoices, nextPeriod, subscription, today }) => {
        const isAhead = invoices.some(
          (one) => one.type === "renewal" && one.periodIndex === nextPeriod?.index,
        );
        const prorate = below(3) > 0;
        return {
          units: below(3) > 0 ? subscription.units + 1 + below(3) : 3 + below(12),
          prorate,
          behaviour: prorate && !isAhead && below(3) === 0 ? "charge_on_renewal" : null,
          effectiveDate: prorate ? today : null,
          document: isAhead ? pick(["amend", "separate"] as const) : null,
        };
      }),
    "end now": () => end("now"),
    "end at period end": () => end("period_end"),
    restore: async () => writes.restore(await order()),
    "report usage": async () => {
      const now = await nowOf(parts);
      const events = Array.from({ length: 4 }, () => ({
        eventId: `event-${below(10_000)}-${below(10)}`,
        subscription: pick(ids),
        meter: { by: "code", value: "calls" } as const,
        quantity: `${1 + below(50)}.0000` as Quantity,
        occurredAt: BigInt(now.getTime() - below(10) * 86_400_000) * 1000n,
      }));
      return store.tenant(organisationId, now).usage.report(events, now);
    },
    "create a customer": async () => {
      const id = newId();
      const customer = customerOf(id, below(2) === 0 ? null : `contact-${below(20)}`);
      const { customers } = store.tenant(organisationId, new Date());
      return customers.save({
        customer,
        requestHash: randomBytes(32),
        awaitedUntil: new Date(),
      });
    },
  };
}

function customerOf(id: string, ledgerContactId: string | null): Customer {
  const names = { companyName: null, firstName: null, lastName: null };
  const code = `C-${id}`;
  return {
    id,
    code,
    name: code,
    ...names,
    email: "c@c.example",
    status: "active",
    ledgerContactId,
    createdAt: new Date(),
  };
}

/** A document that the database does not know. Nothing takes it: no customer has its contact. */
function unknownDocument(number: string): FoundUnknown {
  return {
    ledgerId: `unknown ${number}`,
    number,
    contactId: "nobody",
    status: "approved",
    currency: "NZD",
    reference: "",
    issueDate: "2026-03-20",
    subtotal: "1.0000",
    total: "1.0000",
    lines: [],
  };
}

/** The writers of operators. `post` posts the invoices and credit notes that wait. */
function adminOf(
  { pool, organisationId, ids, admin }: WriterParts,
  post: () => Promise<unknown>,
): Record<string, () => Promise<unknown>> {
  const { organisations, plans, customers, connections, testClock } = admin;
  const writes = operatorWrites(pool);
  const first = async (text: string): Promise<string | null> => {
    const { rows } = await pool.query<{ id: string }>(text, [organisationId]);
    return rows[0]?.id ?? null;
  };
  const plan = () => first("SELECT id FROM plans WHERE organisation_id = $1 AND code = 'team'");
  const customer = () =>
    first("SELECT id FROM customers WHERE organisation_id = $1 AND code = 'ACME'");
  const status = async (wanted: Customer["status"]) =>
    customers.setStatus(actor, organisationId, (await customer()) ?? "", wanted);
  return {
    "void usage": async () => {
      const eventId = await first(
        `SELECT event_id AS id FROM usage_events
          WHERE organisation_id = $1 AND voided_at IS NULL ORDER BY random() LIMIT 1`,
      );
      if (eventId === null) return null;
      return writes.voidUsageEvent(organisationId, eventId).catch(unlessRefused);
    },
    "change Invoice Create Days": () =>
      organisations.update(actor, organisationId, { invoiceCreateDays: pick([0, 7, 14, 25]) }),
    "retry a document": async () => {
      const id = await first(`SELECT i.id FROM invoices i WHERE i.organisation_id = $1
          AND (i.status IN ('not_in_external', 'scheduled') OR i.sync_error IS NOT NULL)
          ORDER BY random() LIMIT 1`);
      return id === null ? null : writes.retryDocument(organisationId, id).catch(unlessRefused);
    },
    "retry a credit note": async () => {
      const id = await first(
        "SELECT id FROM credit_notes WHERE organisation_id = $1 ORDER BY random() LIMIT 1",
      );
      return id === null ? null : writes.retryDocument(organisationId, id).catch(unlessRefused);
    },
    "break off": async () => {
      const id = await first(`SELECT subscription_id AS id FROM ledger_jobs
          WHERE organisation_id = $1 AND kind IN ('amend_invoice', 'end_subscription')
            AND state IN ('ready', 'sending', 'uncertain') ORDER BY random() LIMIT 1`);
      return id === null ? null : writes.breakOff(organisationId, id).catch(unlessRefused);
    },
    "deactivate the customer": async () => {
      await status("inactive");
      return status("active");
    },
    "change a plan": async () => {
      const name = `Team ${below(1_000)}`;
      return plans.update(actor, organisationId, (await plan()) ?? "", (before) => ({
        ...before,
        name,
      }));
    },
    "map a plan": async () => {
      const target = { kind: "plan", id: (await plan()) ?? "" } as const;
      return connections.map(actor, organisationId, target, {
        revenueAccount: `${200 + below(5)}`,
        taxType: "OUTPUT2",
      });
    },
    "connect again": () => {
      const addresses = { baseUrl: "http://ledger.example", identityUrl: "http://ledger.example" };
      const connection = {
        kind: "xero",
        grantKind: "custom",
        tenantId: organisationId,
        ...addresses,
      } as const;
      return connections.save(actor, organisationId, {
        ...connection,
        clientId: "client",
        clientSecret: "secret",
      });
    },
    "import contacts": () => {
      const contacts = Array.from({ length: 4 }, () => `contact-${below(20)}`);
      const imported = [...new Set(contacts)].map((ledgerContactId) => {
        return { ...customerOf(newId(), ledgerContactId), ledgerContactId };
      });
      return customers.importMany(actor, organisationId, imported);
    },
    "advance the clock": async () => {
      const clock = await testClock.get(organisationId);
      if (clock === null || clock.state === "advancing") return null;
      const to = civilDate(addDays(civilDate(clock.now.toISOString().slice(0, 10)), 1));
      return testClock.advance(actor, organisationId, { kind: "to", to });
    },
    // One that is not parked refuses it.
    "retry a parked subscription": () =>
      admin.billing.retry(actor, organisationId, pick(ids)).catch(unlessRefused),
    "switch Setup Mode": async () => {
      // Documents that wait refuse it.
      await post();
      await writes.setSetupMode(organisationId, true).catch(unlessRefused);
      return writes.setSetupMode(organisationId, false);
    },
    reconcile: async () => {
      // Both counters have a document to move past (LEDGER-19).
      for (const [kind, number] of [
        ["invoice", "INV-0001"],
        ["credit_note", "CN-0001"],
      ] as const) {
        const found = unknownDocument(number);
        await admin.unknownDocuments.save(actor, organisationId, kind, [found], false);
      }
      return admin.unknownDocuments.save(actor, organisationId, "credit_note", [], true);
    },
  };
}
