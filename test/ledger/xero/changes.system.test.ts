/**
 * The changes of every ledger: lists by the time of the change, look-ups by ids, and webhooks. The
 * cases run against the adapter and the demo ledger.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { afterAll, describe, expect } from "vitest";
import {
  aCall,
  contactDraft,
  invoiceDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { demoLedgerTest as test } from "../../../packages/demo-ledger/test/fixtures.ts";
import { openDemoHttp } from "../../../packages/demo-ledger/test/request.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import type {
  Ledger,
  LedgerChangeKind,
  LedgerNotification,
} from "../../../src/ledger/port/ledger.ts";
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";
import { until } from "../../support/system.ts";
import { creditNoteDraft } from "../conformance/credit-drafts.ts";

/** The ids of all changes of a kind since an instant, page by page, the oldest first. */
async function changedSince(
  ledger: Ledger,
  kind: LedgerChangeKind,
  since: string,
): Promise<readonly string[]> {
  const ids: string[] = [];
  const instants: string[] = [];
  let cursor: string | undefined;
  do {
    const page = okOf(
      await ledger.listChanges(aCall(), {
        kind,
        since,
        ...(cursor === undefined ? {} : { cursor }),
      }),
    );
    ids.push(...page.changes.map(({ id }) => id));
    instants.push(...page.changes.map(({ updatedAt }) => updatedAt));
    expect(page.highWater).toBe(page.changes[0]?.updatedAt ?? null);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  expect(instants).toEqual(instants.toSorted().reverse());
  return ids.reverse();
}

describe("Xero", () => {
  let connection: XeroConnection;
  let ledger: Ledger;

  test.beforeAll(async ({ fixture }) => {
    connection = await fixture.connect();
    ledger = ledgers.xero.connect(connection, {});
  });
  afterAll(() => ledger.close());

  test("a changed document or contact is the newest change and is found by id", async ({
    fixture,
  }) => {
    const demo = await openDemoHttp(connection);
    const contacts = okOf(
      await ledger.createContacts(aCall(), [contactDraft(), contactDraft()]),
    ).map(okOf);
    const [contact, other] = contacts;
    if (!contact || !other) throw new Error("two contacts were made");
    const drafts = (["approved", "draft", "approved", "approved"] as const).map((status) =>
      invoiceDraft(contact.id, { status }),
    );
    const [paid, deleted, voided, credited] = okOf(
      await ledger.createInvoices(aCall(), drafts),
    ).map(okOf);
    const [note] = okOf(await ledger.createCreditNotes(aCall(), [creditNoteDraft(contact.id)])).map(
      okOf,
    );
    if (!paid || !deleted || !voided || !credited || !note)
      throw new Error("all of them were made");

    await demo.allocate(note.id, [credited.id, 10]);
    await demo.send("POST", `Invoices/${voided.id}`, { Invoices: [{ Status: "VOIDED" }] });
    await demo.send("POST", `Invoices/${deleted.id}`, { Invoices: [{ Status: "DELETED" }] });
    await fixture.admin(`tenants/${connection.tenantId}/invoices/${paid.id}/payments`, {});
    await demo.send("POST", `Contacts/${other.id}`, { Contacts: [{ ContactStatus: "ARCHIVED" }] });

    const touched = [credited.id, voided.id, deleted.id, paid.id];
    expect((await changedSince(ledger, "invoices", paid.updatedAt)).slice(-4)).toEqual(touched);
    expect((await changedSince(ledger, "credit_notes", note.updatedAt)).at(-1)).toBe(note.id);
    expect((await changedSince(ledger, "contacts", contact.updatedAt)).at(-1)).toBe(other.id);

    const changed = okOf(
      await ledger.getMany(aCall(), {
        kind: "invoices",
        ids: [...touched, crypto.randomUUID(), "none"],
      }),
    ).found;
    expect(changed).toHaveLength(4);
    for (const one of changed) {
      expect(one).toEqual({ ...okOf(await ledger.getInvoice(aCall(), one.id)), lines: [] });
    }
    expect(new Map(changed.map(({ id, status }) => [id, status]))).toEqual(
      new Map([
        [credited.id, "approved"],
        [voided.id, "voided"],
        [deleted.id, "deleted"],
        [paid.id, "paid"],
      ]),
    );
    const [observedNote] = okOf(
      await ledger.getMany(aCall(), { kind: "credit_notes", ids: [note.id] }),
    ).found;
    expect(observedNote).toEqual(okOf(await ledger.getCreditNote(aCall(), note.id)));
    expect(observedNote).toMatchObject({
      allocations: [{ invoiceId: credited.id, amount: "10.0000" }],
    });
    expect(
      okOf(await ledger.getMany(aCall(), { kind: "contacts", ids: [other.id] })).found,
    ).toMatchObject([{ id: other.id, status: "archived", mergedInto: null }]);
    expect(okOf(await ledger.getMany(aCall(), { kind: "contacts", ids: [] })).found).toEqual([]);

    // Only people merge: the old contact names the new one, which gets its documents.
    const [into] = okOf(await ledger.createContacts(aCall(), [contactDraft()])).map(okOf);
    await fixture.admin(`tenants/${connection.tenantId}/contacts/${contact.id}/merge`, {
      into: into?.id,
    });
    expect(
      okOf(await ledger.getMany(aCall(), { kind: "contacts", ids: [contact.id] })).found,
    ).toMatchObject([{ status: "archived", mergedInto: into?.id }]);
    expect(okOf(await ledger.getInvoice(aCall(), paid.id))).toMatchObject({ contactId: into?.id });
  });

  test("notes are found by their ids, each with its lines", async () => {
    const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()])).map(okOf);
    const drafts = Array.from({ length: 8 }, () => creditNoteDraft(contact?.id ?? ""));
    const ids = okOf(await ledger.createCreditNotes(aCall(), drafts)).map(
      (answer) => okOf(answer).id,
    );
    const changed = okOf(
      await ledger.getMany(aCall(), { kind: "credit_notes", ids: [...ids, ...ids] }),
    ).found;
    expect(changed.map(({ id }) => id).sort()).toEqual(ids.toSorted());
    expect(changed.every(({ lines }) => lines.length === 1)).toBe(true);
  });

  test("each change is sent by a signed webhook, and again after a 500", async ({ fixture }) => {
    const key = "a signing key";
    const notified: LedgerNotification[] = [];
    let refusals = 1;
    const { signatureHeader, read } = ledgers.xero.webhooks;
    const receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const rawBody = Buffer.concat(chunks);
      const webhook = read(
        { rawBody, signature: String(request.headers[signatureHeader] ?? "") },
        key,
      );
      const isEvent = webhook.kind === "valid" && webhook.notifications.length > 0;
      if (isEvent && refusals > 0) {
        refusals -= 1;
        response.writeHead(500).end();
        return;
      }
      if (webhook.kind === "valid") notified.push(...webhook.notifications);
      response.writeHead(webhook.kind === "invalid" ? 401 : 200).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const path = `tenants/${connection.tenantId}/webhook`;
    try {
      // A receiver that accepts a body with a wrong or missing signature is sent nothing.
      expect((await fixture.admin(path, { url: `${fixture.demo.url}/nowhere`, key })).status).toBe(
        400,
      );
      expect((await fixture.admin(path, { url, key: "another" })).status).toBe(400);
      expect((await fixture.admin(path, { url, key })).status).toBe(200);
      const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()])).map(okOf);
      const [invoice] = okOf(
        await ledger.createInvoices(aCall(), [
          invoiceDraft(contact?.id ?? "", { status: "approved" }),
        ]),
      ).map(okOf);
      await fixture.admin(`tenants/${connection.tenantId}/invoices/${invoice?.id}/payments`, {});
      const after = okOf(await ledger.getInvoice(aCall(), invoice?.id ?? ""));
      const { tenantId } = connection;
      const last = { tenantId, kind: "invoices", ledgerId: after.id, changedAt: after.updatedAt };
      const made = {
        ...last,
        kind: "contacts",
        ledgerId: contact?.id,
        changedAt: contact?.updatedAt,
      };
      // What was answered 500 comes again later than what was changed since.
      const isPublished = (wanted: object) =>
        notified.some((one) => isDeepStrictEqual(one, wanted));
      await until("both are published", async () => isPublished(last) && isPublished(made));
      expect(refusals).toBe(0);
      // One for all organisations is for those to come as well.
      expect((await fixture.admin("webhook", { url, key: "another" })).status).toBe(400);
      expect((await fixture.admin("webhook", { url, key })).status).toBe(200);
      const later = await openDemoHttp(await fixture.connect());
      const { tenantId: laterTenant } = later.connection;
      await until("a new organisation's contact is published", async () =>
        notified.some((one) => one.tenantId === laterTenant),
      );
    } finally {
      await fixture.admin(path, {});
      await new Promise((resolve) => receiver.close(resolve));
    }
  });
});
