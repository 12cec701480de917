/**
 * The fixture of the ledger's system tests: a database, a demo ledger on it with faults, and
 * organisations in it.
 */
import { randomUUID } from "node:crypto";
import type {
  LedgerAnswer,
  LedgerCall,
  LedgerContact,
  LedgerContactDraft,
  LedgerInvoiceDraft,
} from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";
import { freshDatabase } from "../../../test/support/database.ts";
import { allow } from "../../../test/support/slowness.ts";
import { type DemoLedger, type DemoLedgerOptions, startDemoLedger } from "../src/server.ts";

/** A demo ledger on a separate database. */
export interface DemoLedgerFixture {
  readonly databaseUrl: string;
  readonly demo: DemoLedger;
  connect(): Promise<XeroConnection>;
  order(fault: object): Promise<void>;
  admin(path: string, body: object): Promise<Response>;
  stop(): Promise<void>;
}

/** Starts one. `stop` also drops the database. */
export async function startDemoLedgerFixture(
  options: Partial<DemoLedgerOptions> = {},
): Promise<DemoLedgerFixture> {
  const database = await freshDatabase();
  const demo = await startDemoLedger({
    databaseUrl: database.url,
    port: 0,
    faults: true,
    ...options,
  });
  const admin = (path: string, body: object) =>
    fetch(`${demo.url}/demo/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    databaseUrl: database.url,
    demo,
    admin,
    connect: () => connectOrganisation(demo.url),
    order: async (fault) => {
      const answer = await admin("faults", fault);
      if (answer.status !== 200) throw new Error(`fault refused: ${await answer.text()}`);
    },
    stop: async () => {
      await demo.stop();
      await database.drop();
    },
  };
}

/** Makes an organisation and gives the connection to it. */
export async function connectOrganisation(
  url: string,
  changes: object = {},
): Promise<XeroConnection> {
  const credentials = {
    clientId: `client-${randomUUID()}`,
    clientSecret: `secret-${randomUUID()}`,
  };
  const answer = await fetch(`${url}/demo/tenants`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      name: "Test Ltd",
      currency: "GBP",
      timezone: "Europe/London",
      ...credentials,
      ...changes,
    }),
  });
  const { tenantId } = (await answer.json()) as { tenantId: string };
  return { tenantId, ...credentials, ...addresses(url) };
}

/** Where a demo ledger's API and identity service are. */
export function addresses(url: string): Pick<XeroConnection, "baseUrl" | "identityUrl"> {
  return { baseUrl: `${url}/api.xro/2.0`, identityUrl: `${url}/connect/token` };
}

/** A call with a deadline that only a broken test reaches. */
export function aCall(...jobKeys: readonly string[]): LedgerCall {
  return { deadlineMs: allow(20_000), jobKeys };
}

/** A call that gives up soon. */
export function aShortCall(...jobKeys: readonly string[]): LedgerCall {
  return { deadlineMs: 400, jobKeys };
}

/**
 * What became of a call that gives up soon, once it was sent, and how many tries that took: a
 * machine that stands still may use its time up before, and then nothing was sent.
 */
export async function sentOnce<T>(
  send: () => Promise<LedgerAnswer<T>>,
): Promise<{ readonly answer: LedgerAnswer<T>; readonly tries: number }> {
  for (let tries = 1; ; tries += 1) {
    const answer = await send();
    const isUnsent = answer.kind === "unavailable" && answer.outcome === "not_sent";
    if (!isUnsent || tries === 5) return { answer, tries };
  }
}

/** The value of an answer that must be good. */
export function okOf<T>(answer: LedgerAnswer<T> | undefined): T {
  if (answer?.kind !== "ok") throw new Error(`not ok: ${JSON.stringify(answer)}`);
  return answer.value;
}

/** A contact with unique names. */
export function contactDraft(changes: Partial<LedgerContactDraft> = {}): LedgerContactDraft {
  const code = `C-${randomUUID().slice(0, 13)}`;
  return {
    code,
    name: `Customer ${code}`,
    firstName: "Ada",
    lastName: "Lovelace",
    email: "ada@example.com",
    ...changes,
  };
}

/** An invoice of one line of 3 × 10.50 without tax, with a unique number. */
export function invoiceDraft(
  contactId: string,
  changes: Partial<LedgerInvoiceDraft> = {},
): LedgerInvoiceDraft {
  return {
    number: `SB-${randomUUID().slice(0, 13)}`,
    reference: "PO 42",
    contactId,
    currency: "GBP",
    issueDate: "2026-03-01",
    dueDate: "2026-03-15",
    lineAmounts: "exclusive",
    status: "draft",
    sourceUrl: "https://billing.example.com/invoices/1",
    lines: [aLine("3", "10.5000", "31.5000")],
    ...changes,
  };
}

/** A line on the sales account without tax. */
export function aLine(
  quantity: string,
  unitAmount: string,
  amount: string,
  taxType: string | null = "NONE",
) {
  return { description: "Seats", quantity, unitAmount, amount, accountCode: "200", taxType };
}

/** Creates a contact and returns it. */
export async function addLedgerContact(connection: XeroConnection): Promise<LedgerContact> {
  const ledger = createXeroLedger(connection);
  try {
    const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()]));
    return okOf(contact);
  } finally {
    await ledger.close();
  }
}
