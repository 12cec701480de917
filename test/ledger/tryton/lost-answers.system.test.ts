/**
 * What is left in Tryton after each step of the adapter's writes is lost: before it arrives, after
 * it took effect, delivered long after everybody gave up, and with a process that died there. A
 * repeat never doubles anything (LEDGER-23).
 */
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
  aCall,
  contactDraft,
  invoiceDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import type { Ledger, LedgerAnswer } from "../../../src/ledger/port/ledger.ts";
import { withClient, withDatabase } from "../../../src/store/database/migrations/migrate.ts";
import { readTryton } from "./both-books.ts";
import { type Fault, type LosingProxy, startLosingProxy } from "./losing-proxy.ts";
import { credentialsOf, freshTryton, whyNoTryton } from "./tryton-fixture.ts";

const faults: readonly Fault[] = ["before", "after", "late", "dead"];

describe.skipIf(whyNoTryton !== null)("a lost answer of Tryton", () => {
  let access: TrytonAccess;
  let proxy: LosingProxy;
  let ledger: Ledger;
  let contactId: string;

  beforeAll(async () => {
    access = await freshTryton();
    proxy = await startLosingProxy(access.baseUrl);
    ledger = ledgers.tryton.connect(credentialsOf(access, proxy.url), {});
    const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()]));
    contactId = okOf(contact).id;
  });
  afterAll(async () => {
    await ledger?.close();
    await proxy?.close();
  });

  const draftOf = (name: string) =>
    invoiceDraft(contactId, {
      number: name,
      sourceUrl: `/v1/invoices/${name}`,
      status: "approved",
    });

  /** The states of documents with this number in Tryton, finished or not. */
  const inTryton = async (number: string) => {
    const rows = await readTryton(
      access,
      "account.invoice",
      [["reference", "=", number]],
      ["state"],
    );
    return rows.map(({ state }) => state);
  };

  /** Asks until the answer is certain, as the posting does: after `unknown` it looks first. */
  const postUntilKnown = async (name: string): Promise<void> => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const links = [`/v1/invoices/${name}`];
      const found = okOf(await ledger.findInvoices(aCall(), { numbers: [], links }));
      if (found.length > 0) return;
      const answer = await ledger.createInvoices(aCall(), [draftOf(name)]);
      if (answer.kind === "ok" && answer.value.every(({ kind }) => kind === "ok")) return;
    }
    throw new Error(`${name} was never posted`);
  };

  /** The ids of a posted credit note and a posted invoice. */
  const posted = async (name: string) => {
    const { dueDate: _, ...draft } = draftOf(`note-${name}`);
    const [note] = okOf(await ledger.createCreditNotes(aCall(), [draft]));
    const [invoice] = okOf(await ledger.createInvoices(aCall(), [draftOf(name)]));
    return [okOf(note).id, okOf(invoice).id] as const;
  };

  const steps = {
    "the draft's creation": /^POST \/account\.invoice$/,
    "the list of drafts": /^GET \/account\.invoice$/,
    "the posting": /^POST \/account\.invoice\/\d+\/post$/,
  };
  test.for(
    Object.entries(steps).flatMap(([step, pattern]) =>
      faults.map((fault) => ({ step, pattern, fault })),
    ),
  )("$step lost ($fault) leaves one posted invoice", async ({ step, pattern, fault }) => {
    const name = `${step} ${fault}`.replaceAll(/[^a-z]+/g, "-");
    proxy.order(pattern, fault);
    const first = await ledger.createInvoices(aCall(), [draftOf(name)]);
    expect(first.kind === "ok" && first.value.every(({ kind }) => kind === "ok")).toBe(false);
    if (fault !== "late") await proxy.restore();
    await postUntilKnown(name);
    await proxy.restore();
    const states = await inTryton(name);
    expect(states.filter((state) => state === "posted")).toHaveLength(1);
    // A creation that arrives last leaves a draft, which nobody posts and the sync deletes.
    expect(states.filter((state) => state !== "posted")).toEqual(
      fault === "late" && step === "the draft's creation" ? ["draft"] : [],
    );
    const found = okOf(await ledger.findInvoices(aCall(), { numbers: [name] }));
    expect(found).toMatchObject([{ status: "approved", total: "31.5000" }]);
  });

  const creditSteps = {
    "the move's creation": /^POST \/account\.move$/,
    "the move's posting": /^POST \/account\.move\/\d+\/post$/,
  };
  test.for(
    Object.entries(creditSteps).flatMap(([step, pattern]) =>
      faults.map((fault) => ({ step, pattern, fault })),
    ),
  )("$step lost ($fault) gives the credit once", async ({ step, pattern, fault }) => {
    const name = `${step} ${fault}`.replaceAll(/[^a-z]+/g, "-");
    const [creditNoteId, invoiceId] = await posted(name);
    const application = { creditNoteId, invoiceId, amount: "10.0000", date: "2026-03-10" };
    proxy.order(pattern, fault);
    const first = await ledger.allocateCredit(aCall(name), application);
    expect(first.kind).toBe("unavailable");
    if (fault !== "late") await proxy.restore();
    let answer: LedgerAnswer<{ readonly remainingCredit: string }> = first;
    for (let attempt = 0; attempt < 5 && answer.kind !== "ok"; attempt += 1) {
      const read = okOf(await ledger.getCreditNote(aCall(), application.creditNoteId));
      answer =
        read.allocations.length > 0
          ? { kind: "ok", value: read }
          : await ledger.allocateCredit(aCall(name), application);
    }
    await proxy.restore();
    const read = okOf(await ledger.getCreditNote(aCall(), application.creditNoteId));
    expect(read.allocations).toMatchObject([{ amount: "10.0000" }]);
    expect(read.remainingCredit).toBe("21.5000");
    expect(okOf(await ledger.getInvoice(aCall(), application.invoiceId))).toMatchObject({
      amountDue: "21.5000",
      amountCredited: "10.0000",
    });
  });

  test("an unfinished draft of an hour ago is deleted by the sync, and nothing else", async () => {
    const name = "arrives-late";
    const finished = { ...draftOf("a-draft"), status: "draft" } as const;
    okOf(okOf(await ledger.createInvoices(aCall(), [finished]))[0]);
    proxy.order(/^POST \/account\.invoice$/, "late");
    await ledger.createInvoices(aCall(), [draftOf(name)]);
    await postUntilKnown(name);
    await proxy.restore();
    const [note, invoice] = await posted("stray-credit");
    const application = { creditNoteId: note, invoiceId: invoice, amount: "1.0000" };
    proxy.order(/^POST \/account\.move$/, "late");
    await ledger.allocateCredit(aCall(name), { ...application, date: "2026-03-10" });
    await proxy.restore();
    const credit = [
      ["state", "=", "draft"],
      ["description", "like", "%stray-credit"],
    ];
    const moves = () => readTryton(access, "account.move", credit, ["id"]);
    const sync = () => ledger.listChanges(aCall(), { kind: "invoices" });
    okOf(await sync());
    expect([await inTryton(name), (await moves()).length]).toEqual([["posted", "draft"], 1]);

    const [database = ""] = access.tenantId.split("/");
    await withClient(withDatabase(inject("postgresUrl"), database), async (client) => {
      for (const table of ["account_invoice", "account_move"])
        await client.query(`UPDATE ${table} SET create_date = create_date - interval '61 min'`);
    });
    okOf(await sync());
    expect([await inTryton(name), (await moves()).length]).toEqual([["posted"], 0]);
    expect(await inTryton("a-draft")).toEqual(["draft"]);
  });

  test("a lost void is repeated, and a lost deletion too", async () => {
    for (const [status, pattern] of [
      ["approved", /cancel$/],
      ["draft", /^DELETE/],
    ] as const) {
      const name = `removed-${status}`;
      const [made] = okOf(await ledger.createInvoices(aCall(), [{ ...draftOf(name), status }]));
      const { id } = okOf(made);
      proxy.order(pattern, "after");
      expect(await ledger.removeInvoice(aCall(), id)).toMatchObject({ outcome: "unknown" });
      const again = okOf(await ledger.removeInvoice(aCall(), id));
      expect(again.outcome).toBe(status === "draft" ? "not_found" : "already_removed");
    }
  });
});
