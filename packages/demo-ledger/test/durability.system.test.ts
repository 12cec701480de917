/**
 * The demo ledger under parallel calls and restarts: one document per number, and nothing
 * lost.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import pg from "pg";
import { expect } from "vitest";
import type { LedgerChangePage, LedgerContact } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { freshDatabase } from "../../../test/support/database.ts";
import { freePort } from "../../../test/support/ports.ts";
import { startDemoLedger } from "../src/server.ts";
import {
  aCall,
  addLedgerContact,
  addresses,
  connectOrganisation,
  contactDraft,
  invoiceDraft,
  okOf,
} from "./demo-ledger-fixture.ts";
import { demoLedgerTest as test } from "./fixtures.ts";
import { openDemoHttp } from "./request.ts";

test("twenty parallel creates of one number create exactly one invoice", async ({
  connection,
  contactId,
}) => {
  const ledger = createXeroLedger(connection, { connections: 20 });
  const draft = invoiceDraft(contactId);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      ledger.createInvoices(aCall(`parallel-${index}`), [draft]),
    ),
  );
  const kinds = answers
    .map((answer) => okOf(answer)[0])
    .map((one) => (one?.kind === "refused" ? one.reason : one?.kind));
  expect(kinds.filter((kind) => kind === "ok")).toHaveLength(1);
  expect(kinds.filter((kind) => kind === "duplicate_number")).toHaveLength(19);
  expect(okOf(await ledger.findInvoices(aCall(), { numbers: [draft.number] }))).toHaveLength(1);
  await ledger.close();
});

test("twenty parallel creates under one idempotency key all get the one invoice", async ({
  connection,
  contactId,
}) => {
  const ledger = createXeroLedger(connection, { connections: 20 });
  const draft = invoiceDraft(contactId);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ledger.createInvoices(aCall("one operation"), [draft])),
  );
  const ids = answers.map((answer) => okOf(okOf(answer)[0]).id);
  expect(new Set(ids).size).toBe(1);
  await ledger.close();
});

test("overlapping batches in opposite order create each number once", async ({
  connection,
  contactId,
}) => {
  const ledger = createXeroLedger(connection, { connections: 10 });
  const drafts = Array.from({ length: 30 }, () => invoiceDraft(contactId));
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      ledger.createInvoices(
        aCall(`batch-${index}`),
        index % 2 === 0 ? drafts : drafts.toReversed(),
      ),
    ),
  );
  const made = answers.flatMap((answer) => okOf(answer)).filter(({ kind }) => kind === "ok");
  expect(made).toHaveLength(30);
  await ledger.close();
});

test("parallel creates of one contact name create exactly one contact", async ({ connection }) => {
  const ledger = createXeroLedger(connection, { connections: 10 });
  const { name } = contactDraft();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      ledger.createContacts(aCall(`name-${index}`), [contactDraft({ name })]),
    ),
  );
  const made = answers.map((answer) => okOf(answer)[0]).filter((one) => one?.kind === "ok");
  expect(made).toHaveLength(1);
  await ledger.close();
});

test("parallel requests for one organisation create it once", async ({ fixture }) => {
  const credentials = { clientId: crypto.randomUUID(), clientSecret: "secret" };
  const made = await Promise.all(
    Array.from({ length: 10 }, () => connectOrganisation(fixture.demo.url, credentials)),
  );
  expect(new Set(made.map(({ tenantId }) => tenantId)).size).toBe(1);
});

test("two thousand contacts of one second are all listed, page by page", async ({ fixture }) => {
  const ledger = createXeroLedger(await fixture.connect());
  const made: string[] = [];
  for (let batch = 0; batch < 42; batch += 1) {
    const drafts = Array.from({ length: 50 }, () => contactDraft());
    made.push(...okOf(await ledger.createContacts(aCall(), drafts)).map((one) => okOf(one).id));
  }
  const listed = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: LedgerChangePage<LedgerContact> = okOf(
      await ledger.listChanges(aCall(), {
        kind: "contacts",
        ...(cursor === null ? {} : { cursor }),
      }),
    );
    for (const { id } of page.changes) listed.add(id);
    cursor = page.cursor;
  } while (cursor !== null);
  expect(listed).toEqual(new Set(made));
  await ledger.close();
});

test("a restart keeps organisations, tokens, documents and idempotency keys", async () => {
  const database = await freshDatabase();
  // A port that no other server gets while it is down.
  const first = await startDemoLedger({ databaseUrl: database.url, port: await freePort() });
  const before = await connectOrganisation(first.url);
  const contact = await addLedgerContact(before);
  const ledger = createXeroLedger(before);
  const draft = invoiceDraft(contact.id);
  const invoice = okOf(okOf(await ledger.createInvoices(aCall("kept"), [draft]))[0]);
  await first.stop();
  await ledger.close();

  const second = await startDemoLedger({ databaseUrl: database.url, port: first.port });
  const again = createXeroLedger({ ...before, ...addresses(second.url) });
  expect(okOf(await again.getInvoice(aCall(), invoice.id))).toEqual(invoice);
  // The invoice made a customer of it.
  expect(okOf(await again.getContact(aCall(), contact.id))).toEqual({
    ...contact,
    isCustomer: true,
  });
  expect(okOf(okOf(await again.createInvoices(aCall("kept"), [draft]))[0])).toEqual(invoice);
  await again.close();
  await second.stop();
  await database.drop();
});

test("a restart keeps credit notes, allocations and their idempotency keys", async () => {
  const database = await freshDatabase();
  const first = await startDemoLedger({ databaseUrl: database.url, port: 0 });
  const before = await openDemoHttp(await connectOrganisation(first.url));
  const invoice = await before.invoice({ Status: "AUTHORISED" });
  const note = await before.creditNote({ Status: "AUTHORISED" });
  const path = `CreditNotes/${note.CreditNoteID}/Allocations`;
  const body = {
    Allocations: [{ Invoice: { InvoiceID: invoice.InvoiceID }, Amount: 15, Date: "2026-05-03" }],
  };
  const key = { "idempotency-key": crypto.randomUUID() };
  const put = await before.send("PUT", path, body, key);
  const documents = [
    await before.readInvoice(invoice.InvoiceID),
    await before.readCreditNote(note.CreditNoteID),
  ];
  await first.stop();

  const second = await startDemoLedger({ databaseUrl: database.url, port: 0 });
  const after = await openDemoHttp({ ...before.connection, ...addresses(second.url) });
  expect((await after.send("PUT", path, body, key)).body).toEqual(put.body);
  const kept = [
    await after.readInvoice(invoice.InvoiceID),
    await after.readCreditNote(note.CreditNoteID),
  ];
  expect(kept).toEqual(documents);
  expect(kept).toMatchObject([
    { AmountCredited: 15 },
    { RemainingCredit: 25, Allocations: [{ Amount: 15 }] },
  ]);
  await second.stop();
  await database.drop();
});

test("ledger documents of a version without credit notes are kept as they are", async () => {
  const database = await freshDatabase();
  const first = await startDemoLedger({ databaseUrl: database.url, port: 0 });
  const before = await openDemoHttp(await connectOrganisation(first.url));
  const { InvoiceID } = await before.invoice({ Status: "AUTHORISED" });
  const invoice = await before.readInvoice(InvoiceID);
  await first.stop();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`drop table demo_ledger.credit_allocations, demo_ledger.credit_notes;
    alter table demo_ledger.invoices drop constraint invoices_money_not_negative,
      drop constraint invoices_money_on_approved, drop constraint invoices_paid_whole;
    comment on schema demo_ledger is null`);
  await client.end();

  const second = await startDemoLedger({ databaseUrl: database.url, port: 0 });
  const after = await openDemoHttp({ ...before.connection, ...addresses(second.url) });
  expect(await after.readInvoice(InvoiceID)).toEqual(invoice);
  const note = await after.creditNote({
    Status: "AUTHORISED",
    Contact: { ContactID: before.contactId },
  });
  expect((await after.allocate(note.CreditNoteID, [InvoiceID, 40])).status).toBe(200);
  await second.stop();
  await database.drop();
});

test("a server that starts on tables in use does not wait for their locks", async ({ fixture }) => {
  const client = new pg.Client({ connectionString: fixture.databaseUrl });
  await client.connect();
  await client.query("begin");
  await client.query(
    `lock demo_ledger.tenants, demo_ledger.invoices, demo_ledger.credit_notes
      in row exclusive mode`,
  );
  const other = await startDemoLedger({ databaseUrl: fixture.databaseUrl, port: 0 });
  expect((await fetch(`${other.url}/demo/documents`)).status).toBe(200);
  await other.stop();
  await client.query("rollback");
  await client.end();
});

test("several servers that start on an empty database at once all serve it", async () => {
  const database = await freshDatabase();
  const servers = await Promise.all(
    Array.from({ length: 4 }, () => startDemoLedger({ databaseUrl: database.url, port: 0 })),
  );
  const [first, second] = servers;
  const made = await connectOrganisation(first?.url ?? "");
  const ledger = createXeroLedger({ ...made, ...addresses(second?.url ?? "") });
  expect((await ledger.describe(aCall())).kind).toBe("ok");
  await ledger.close();
  await Promise.all(servers.map((server) => server.stop()));
  await database.drop();
});

test("the process ends cleanly on SIGTERM and loses nothing if it is killed", async () => {
  const database = await freshDatabase();
  const one = await startProcess(database.url);
  const made = await connectOrganisation(one.url);
  const contact = await addLedgerContact(made);
  one.child.kill("SIGKILL");
  await once(one.child, "exit");

  const two = await startProcess(database.url);
  const ledger = createXeroLedger({ ...made, ...addresses(two.url) });
  expect(okOf(await ledger.getContact(aCall(), contact.id))).toEqual(contact);
  await ledger.close();
  two.child.kill("SIGTERM");
  expect(await once(two.child, "exit")).toEqual([0, null]);
  await database.drop();
});

async function startProcess(
  databaseUrl: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ["packages/demo-ledger/src/main.ts"], {
    env: { ...process.env, DATABASE_URL: databaseUrl, DEMO_LEDGER_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { child, url: JSON.parse(line).url };
}
