/** One sandbox with objects of every kind and status, for tests of reads. OBJECT-5, OBJECT-6. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { setOrganisation, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { addCreditNote, addLike } from "./row-builder.ts";

/** The sandbox and its objects. */
export interface ReadableObjects {
  readonly own: CreatedOrganisation;
  /** Ids by name: subscriptions `one` to `four` (oldest first), customers, credit notes. */
  readonly ids: Readonly<Record<string, string>>;
}

/** Creates the sandbox and its objects. */
export async function readableObjects(system: TestSystem, ask: Ask): Promise<ReadableObjects> {
  const ids: Record<string, string> = {};
  const own = await system.organisation(
    { livemode: false },
    { test_clock: "2026-01-31T03:00:00Z" },
  );
  const subscribe = async (name: string, body: object): Promise<void> => {
    const { json, text } = await ask("POST", "/v1/subscriptions", {
      key: own.apiKey,
      idempotencyKey: name,
      body,
    });
    expect(json.invoice, text).toBeTypeOf("object");
    Object.assign(ids, {
      [name]: json.id,
      [`${name}'s customer`]: json.customer,
      [`${name}'s invoice`]: json.invoice.id,
    });
  };

  const addNotes = async (): Promise<void> => {
    const of = (name: string) => ({
      customerId: ids[`${name}'s customer`] ?? "",
      subscriptionId: ids[name] ?? "",
    });
    const invoiceId = ids["one's invoice"] ?? null;
    const othersInvoiceId = ids["two's invoice"] ?? null;
    const notes = {
      unapplied: { ...of("one"), number: "CN-1" },
      partial: { ...of("one"), number: "CN-2", remaining: "4.50", reference: "PO-9", invoiceId },
      applied: {
        ...of("two"),
        number: "CN-3",
        status: "paid",
        remaining: "0",
        invoiceId: othersInvoiceId,
      },
      voided: { ...of("two"), number: "CN-4", status: "voided" },
      refused: {
        ...of("four"),
        number: "CN-5",
        status: "not_in_external",
        syncError: "No such account",
      },
    };
    for (const [name, note] of Object.entries(notes))
      ids[name] = await addCreditNote(system.pool, own.organisationId, note);
  };

  const { organisationId } = own;
  for (const status of ["draft", "inactive", "legacy"]) {
    await addLike(system.pool, "plans", organisationId, "team", { code: `team-${status}`, status });
    await addLike(system.pool, "charges", organisationId, "onboarding", {
      code: `onboarding-${status}`,
      status,
    });
  }
  const gone = { code: "GONE", status: "inactive", email: "göne@acme.example" };
  await addLike(system.pool, "customers", organisationId, "ACME", gone);
  await subscribe("one", { customer_code: "ACME", plan_code: "site" });
  await subscribe("two", { customer_code: "GLOBEX", plan_code: "team", units: 3 });
  await subscribe("three", { customer_code: "ACME", plan_code: "site", start_date: "2026-02-28" });
  await setOrganisation(system.pool, organisationId, { revenueAccount: "205" });
  await subscribe("four", { customer_code: "INITECH", plan_code: "site" });
  // An answer need not have waited for the ledger.
  await until("the ledger has decided on every invoice", async () => {
    const where = { organisationId, status: "scheduled" };
    return (await tables(system.pool).invoice.count({ where })) === 0;
  });
  await addNotes();
  return { own, ids };
}

/** An object of a list. */
export interface Listed {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** Tests of reads in that sandbox. `list` returns a page, which must be one. */
export const readsTest = scenarioTest
  .extend("objects", perFile, ({ system, ask }) => readableObjects(system, ask))
  .extend("own", perFile, ({ objects }) => objects.own)
  .extend("ids", perFile, ({ objects }) => objects.ids)
  .extend(
    "read",
    perFile,
    ({ ask, own }) =>
      (path: string) =>
        ask("GET", path, { key: own.apiKey }),
  )
  .extend(
    "list",
    perFile,
    ({ read }) =>
      async (path: string): Promise<{ readonly data: Listed[]; readonly has_more: boolean }> => {
        const { status, json, text } = await read(path);
        expect(status, text).toBe(200);
        expect(Object.keys(json)).toEqual(["data", "has_more"]);
        return json;
      },
  );
