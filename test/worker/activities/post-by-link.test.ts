/**
 * Posting to a ledger without drafts and without unique numbers: documents go out approved, and a
 * lost answer is found by the document's link to us (LEDGER-17).
 */
import { beforeEach, expect, test } from "vitest";
import { unknownReferenceData } from "../../../src/domain/ledger/validation.ts";
import type { Ledger, LedgerContact } from "../../../src/ledger/port/ledger.ts";
import type { CreditNoteToSend, InvoiceToSend } from "../../../src/store/ledger-jobs/claim-jobs.ts";
import {
  postCreditNotes,
  postInvoices,
} from "../../../src/worker/activities/posting/document-kinds.ts";
import {
  createMemoryLedger,
  type MemoryLedger,
  memorySecret,
} from "../../support/memory-ledger.ts";

const call = { deadlineMs: 20_000, jobKeys: [] };
const line = {
  id: "line",
  name: "Team",
  description: "",
  units: null,
  unitPrice: null,
  amount: "12.5000",
  revenueAccount: "200",
  taxType: "NONE",
};

let memory: MemoryLedger;
let ledger: Ledger;
let contact: LedgerContact;

beforeEach(async () => {
  memory = createMemoryLedger();
  const credentials = { tenantId: "100001", clientId: "c", clientSecret: memorySecret };
  ledger = memory.kind.connect({ ...credentials, baseUrl: "", identityUrl: "" }, {});
  const names = { code: "ACME", name: "Acme", firstName: null, lastName: null, email: null };
  const answer = await ledger.createContacts(call, [names]);
  const [first] = answer.kind === "ok" ? answer.value : [];
  if (first?.kind !== "ok") throw new Error("no contact");
  contact = first.value;
});

const settings = () => ({
  deadlineMs: 20_000,
  publicUrl: null,
  traits: ledger.traits,
  referenceData: unknownReferenceData,
  onPermit: () => undefined,
  // This database was never restored.
  unknown: {
    load: async () => [],
    adopt: async () => new Set<string>(),
    remove: async () => undefined,
  },
});

const taken = () => ({
  id: "job",
  attempts: 1,
  state: "uncertain",
  firstSentAt: new Date(0),
  keyVariant: 0,
  traceparent: null,
  numberTaken: 0,
  renumbered: 0,
  isAwaited: true,
  number: "INV-1",
  reference: "",
  currency: "NZD",
  subtotal: "12.5000",
  issueDate: "2026-04-01",
  contactId: contact.id,
  mayBeThere: false,
  isContactGone: false,
  skipValidation: false,
  lines: [line],
});

const invoice = (): InvoiceToSend => ({
  ...taken(),
  kind: "create_invoice",
  invoiceId: "one",
  dueDate: "2026-04-15",
  firstStatus: "draft",
});

const note = (): CreditNoteToSend => ({
  ...taken(),
  kind: "create_credit_note",
  creditNoteId: "two",
});

const send = async (ready: InvoiceToSend) =>
  (await postInvoices(ledger, { ready: [ready], uncertain: [] }, settings())).outcomes;
const lookUp = async (uncertain: InvoiceToSend) =>
  (await postInvoices(ledger, { ready: [], uncertain: [uncertain] }, settings())).outcomes;
const stored = () => [...memory.documents("100001").invoices.values()];

test("an invoice is created approved, whatever the organisation's first status", async () => {
  expect(await send(invoice())).toMatchObject([{ kind: "invoice_done", status: "approved" }]);
  expect(stored()).toMatchObject([{ status: "approved", sourceUrl: "/v1/invoices/one" }]);
});

test("an invoice with a lost answer is adopted by its link", async () => {
  memory.loseNextAnswer();
  expect(await send(invoice())).toMatchObject([{ kind: "uncertain" }]);
  const [created] = stored();
  const again = { ...invoice(), attempts: 2 };
  expect(await lookUp(again)).toMatchObject([{ kind: "invoice_done", ledgerId: created?.id }]);
});

test("an equal document without our link is not adopted, and is no obstacle", async () => {
  await send(invoice());
  const { invoices } = memory.documents("100001");
  for (const one of stored()) invoices.set(one.id, { ...one, sourceUrl: null });
  const again = { ...invoice(), attempts: 2 };
  expect(await lookUp(again)).toMatchObject([{ kind: "again", countsAsAttempt: true }]);
});

test("a credit note with a lost answer is adopted by its link", async () => {
  memory.loseNextAnswer();
  const first = await postCreditNotes(ledger, { ready: [note()], uncertain: [] }, settings());
  expect(first.outcomes).toMatchObject([{ kind: "uncertain" }]);
  const uncertain = [{ ...note(), attempts: 2 }];
  const found = await postCreditNotes(ledger, { ready: [], uncertain }, settings());
  const [created] = memory.documents("100001").notes.values();
  expect(found.outcomes).toMatchObject([{ kind: "credit_note_done", ledgerId: created?.id }]);
});
