/** An invoice in the demo ledger that tests amend, with the bookkeeper's own changes. */

import { test } from "vitest";
import {
  aCall,
  addLedgerContact,
  addresses,
  aLine,
  type DemoLedgerFixture,
  invoiceDraft,
  okOf,
  startDemoLedgerFixture,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type {
  Ledger,
  LedgerInvoice,
  LedgerInvoiceStatus,
  LedgerLineChange,
  LedgerLineDraft,
} from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { type Exchange, startRecordingProxy } from "./recording-proxy.ts";

/** The request that amends an invoice. */
export const post = "POST /api.xro/2.0/Invoices";

/** The statuses in which the lines of an invoice can be changed. */
export const open: readonly LedgerInvoiceStatus[] = ["draft", "awaiting_approval", "approved"];

/** The fixture of tests that amend invoices. */
export interface AmendmentFixture {
  readonly demo: DemoLedgerFixture;
  readonly contactId: string;
  /** The ledger without a proxy. */
  readonly ledger: Ledger;
  /** The ledger through a proxy that records each request. */
  readonly watched: Ledger;
  /** Creates an invoice with two lines. */
  createInvoice(changes?: Parameters<typeof invoiceDraft>[1]): Promise<LedgerInvoice>;
  /** Changes an invoice as a bookkeeper does in the ledger itself. */
  byHand(id: string, changes: object): Promise<void>;
  /** Reads an invoice as the ledger's JSON. */
  rawInvoice(id: string): Promise<RawInvoice>;
  pay(id: string, amount?: number): Promise<void>;
  /** Adds a second contact and returns its id. */
  addContact(): Promise<string>;
  /** Merges a contact into that of the fixture. */
  merge(contactId: string): Promise<void>;
  /** The recorded requests that write. */
  writes(): readonly Exchange[];
  /** Removes recorded requests and faults. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

interface RawInvoice {
  readonly LineItems: readonly Readonly<Record<string, unknown>>[];
}

/** Starts a demo ledger with one contact, and a recording proxy. */
export async function startAmendmentFixture(): Promise<AmendmentFixture> {
  const demo = await startDemoLedgerFixture();
  const proxy = await startRecordingProxy(demo.demo.url);
  const connection = await demo.connect();
  const contactId = (await addLedgerContact(connection)).id;
  const ledger = createXeroLedger(connection);
  const watched = createXeroLedger({ ...connection, ...addresses(proxy.url) });
  const headers = {
    authorization: `Bearer ${await tokenOf(connection)}`,
    "xero-tenant-id": connection.tenantId,
  };
  const invoiceUrl = (id: string) => `${connection.baseUrl}/Invoices/${id}?unitdp=4`;

  return {
    ...{ demo, contactId, ledger, watched },
    async createInvoice(changes = {}) {
      const lines = [
        aLine("3", "10.5000", "31.5000"),
        { ...aLine("1", "99.0000", "99.0000"), description: "Set-up" },
      ];
      const [created] = okOf(
        await ledger.createInvoices(aCall(), [invoiceDraft(contactId, { lines, ...changes })]),
      );
      return okOf(created);
    },
    async byHand(id, changes) {
      const body = JSON.stringify({ Invoices: [{ InvoiceID: id, ...changes }] });
      const answer = await fetch(invoiceUrl(id), { method: "POST", headers, body });
      if (answer.status !== 200) throw new Error(await answer.text());
    },
    async rawInvoice(id) {
      const answer = await fetch(invoiceUrl(id), { headers });
      const { Invoices } = (await answer.json()) as { Invoices: readonly RawInvoice[] };
      return Invoices[0] ?? { LineItems: [] };
    },
    async pay(id, amount) {
      const path = `tenants/${connection.tenantId}/invoices/${id}/payments`;
      const answer = await demo.admin(path, { amount });
      if (answer.status !== 200) throw new Error(await answer.text());
    },
    addContact: async () => (await addLedgerContact(connection)).id,
    async merge(merged) {
      const path = `tenants/${connection.tenantId}/contacts/${merged}/merge`;
      const answer = await demo.admin(path, { into: contactId });
      if (answer.status !== 200) throw new Error(await answer.text());
    },
    writes: () =>
      proxy.exchanges.filter(
        ({ method, url }) => method !== "GET" && !url.pathname.includes("connect"),
      ),
    async reset() {
      proxy.exchanges.length = 0;
      await fetch(`${demo.demo.url}/demo/faults`, { method: "DELETE" });
    },
    async stop() {
      await ledger.close();
      await watched.close();
      await proxy.stop();
      await demo.stop();
    },
  };
}

async function tokenOf(from: XeroConnection): Promise<string> {
  const credentials = Buffer.from(`${from.clientId}:${from.clientSecret}`).toString("base64");
  const answer = await fetch(from.identityUrl, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** A line to add. */
export function added(changes: Partial<LedgerLineDraft> = {}): LedgerLineChange {
  return {
    ...aLine("2.5", "10.3330", "25.8300"),
    description: "Seats 3 to 4",
    ...changes,
    ledgerLineId: null,
  };
}

/** A change of the line. */
export function named(line: { readonly ledgerLineId: string } | undefined): LedgerLineChange {
  return { ...aLine("4", "10.5000", "42.0000"), ledgerLineId: line?.ledgerLineId ?? "" };
}

/** Tests that amend invoices of one demo ledger. */
export const amendmentTest = test.extend(
  "fixture",
  perFile,
  started(startAmendmentFixture, (fixture) => fixture.stop()),
);
