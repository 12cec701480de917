/**
 * A second kind of ledger, for tests: documents in memory, no drafts, no unique numbers, other
 * limits, its own form, no OAuth app and no webhooks. It passes the conformance suite.
 */
import { randomUUID } from "node:crypto";
import { createPermits } from "../../src/ledger/port/call-permits.ts";
import { refusedDrift } from "../../src/ledger/port/drift.ts";
import { notFound, refused } from "../../src/ledger/port/failures.ts";
import { checkRemoval, refusedMoney } from "../../src/ledger/port/invoice-checks.ts";
import type * as port from "../../src/ledger/port/ledger.ts";
import type { LedgerKind, LedgerTraits } from "../../src/ledger/port/ledger-kind.ts";
import { foldText } from "../../src/ledger/port/texts.ts";
import {
  changeInvoice,
  createDocuments,
  documentOf,
  isMore,
  lineOf,
  type MemoryDocuments,
  minus,
  taxes,
  totalsOf,
  zero,
} from "./memory-documents.ts";

/** The ledger, and what a test does in it. */
export interface MemoryLedger {
  readonly kind: LedgerKind;
  /** The documents of an organisation there. */
  documents(tenantId: string): MemoryDocuments;
  /** The next creation of documents takes effect, and its answer is lost. */
  loseNextAnswer(): void;
}

/** The secret of every connection. */
export const memorySecret = "open sesame";

const traits: LedgerTraits = {
  calls: { minute: 500, day: 10_000, concurrent: 10, documents: 10 },
  documents: {
    amountPlaces: 3,
    maxLines: 20,
    maxNumberLength: 60,
    maxDescriptionLength: 1_000,
    hasDrafts: false,
    canAmendApproved: true,
    hasUniqueNumbers: false,
  },
  ...({ numbers: "ours", idempotency: "keys" } as const),
  ...({ notifications: "none", removal: "remembers" } as const),
  maxContactCodeLength: 64,
};

const accounts = [
  { code: "200", name: "Sales", active: true, usableForRevenue: true },
  { code: "201", name: "Old sales", active: false, usableForRevenue: true },
  { code: "400", name: "Rent", active: true, usableForRevenue: false },
];
const taxRates = Object.keys(taxes).map((code) => {
  return { code, name: code, active: true, usableForRevenue: true };
});
const currencies = ["NZD", "GBP", "KWD"].map((code) => {
  return { code, name: code, active: true, usableForRevenue: true };
});
const lists = { accounts, tax_rates: taxRates, currencies };

/** Creates a ledger without organisations. An organisation begins with its first connection. */
export function createMemoryLedger(): MemoryLedger {
  const all = new Map<string, MemoryDocuments>();
  const lost = { next: false };
  const documents = (tenantId: string): MemoryDocuments => {
    const known = all.get(tenantId) ?? createDocuments();
    all.set(tenantId, known);
    return known;
  };
  const isNumber = (value: string) => (/^\d{6}$/.test(value) ? null : "must be six digits");
  const accept = () => null;
  const own = { fallback: null, isAddress: false };
  return {
    documents,
    loseNextAnswer: () => {
      lost.next = true;
    },
    kind: {
      name: "Memory",
      form: {
        tenant_id: { ...own, isSecret: false, faultOf: isNumber },
        client_id: { ...own, isSecret: false, faultOf: accept },
        client_secret: { ...own, isSecret: true, faultOf: accept },
      },
      app: null,
      webhooks: null,
      traits,
      connect: ({ tenantId, clientSecret }, { budget }) => {
        const permits = createPermits(budget);
        const call = async <T>(
          { deadlineMs, isBackground = false, onPermit }: port.LedgerCall,
          work: () => port.LedgerAnswer<T>,
        ): Promise<port.LedgerAnswer<T>> => {
          const endMs = performance.now() + deadlineMs;
          const permit = await permits.take({ endMs, isBackground });
          if (permit.kind !== "granted") return permit;
          onPermit?.();
          const answer = clientSecret === memorySecret ? work() : lockedOut;
          await permit.end(null);
          return answer;
        };
        return adapterOf(documents(tenantId), tenantId, call, lost);
      },
    },
  };
}

type Call = <T>(
  call: port.LedgerCall,
  work: () => port.LedgerAnswer<T>,
) => Promise<port.LedgerAnswer<T>>;

const lockedOut = { kind: "unauthorised", why: "expired", message: "Wrong secret" } as const;

function adapterOf(
  documents: MemoryDocuments,
  tenantId: string,
  call: Call,
  lost: { next: boolean },
): port.Ledger {
  const { contacts, invoices, notes } = documents;
  const objects = (kind: port.LedgerChangeKind): readonly ChangedObject[] =>
    kind === "contacts"
      ? [...contacts.values()].map(observed)
      : [...(kind === "invoices" ? invoices : notes).values()];
  const observed = (contact: port.LedgerContact): port.LedgerContact => {
    const isCustomer = [...invoices.values()].some(({ contactId }) => contactId === contact.id);
    return { ...contact, isCustomer };
  };
  const since = (kind: port.LedgerChangeKind, from = "") =>
    objects(kind)
      .filter(({ updatedAt }) => updatedAt >= from)
      .sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1))
      .map((one) => withoutLines(kind, one));
  const create = <T>(work: () => readonly port.LedgerAnswer<T>[]) => {
    const answer = ok(work());
    if (!lost.next) return answer;
    lost.next = false;
    return { kind: "unavailable", outcome: "unknown", cause: "the answer was lost" } as const;
  };
  const get = <T>(from: Map<string, T>, id: string): port.LedgerAnswer<T> => {
    const found = from.get(id);
    return found === undefined ? refused("not_found", `Nothing has the id ${id}`) : ok(found);
  };
  const find = <T extends port.LedgerInvoice | port.LedgerCreditNote>(
    from: Map<string, T>,
    { numbers, links = [] }: port.LedgerDocumentQuery,
  ) =>
    ok(
      [...from.values()].filter(
        ({ number, sourceUrl }) =>
          numbers.some((one) => foldText(one) === foldText(number)) ||
          links.some((link) => sourceUrl?.endsWith(link)),
      ),
    );
  return {
    traits,
    describe: (asked) =>
      call(asked, () =>
        ok({
          ...{ id: tenantId, name: "Memory Ltd", currency: "NZD", timezone: null, demo: true },
          ...{ periodLockDate: null, yearLockDate: null, multicurrency: true },
        }),
      ),
    listMappingOptions: (asked, kind) => call(asked, () => ok(lists[kind])),
    listChanges: <Kind extends port.LedgerChangeKind>(
      asked: port.LedgerCall,
      { kind, since: from }: port.LedgerChangeQuery<Kind>,
    ) =>
      call(asked, () => {
        const changes = since(kind, from) as unknown as port.LedgerChanged[Kind][];
        const highWater = changes[0]?.updatedAt ?? null;
        return ok({ changes, unread: [], cursor: null, highWater });
      }),
    getMany: <Kind extends port.LedgerChangeKind>(
      asked: port.LedgerCall,
      { kind, ids }: { readonly kind: Kind; readonly ids: readonly string[] },
    ) =>
      call(asked, () => {
        const found = since(kind).filter(({ id }) => ids.includes(id));
        return ok({ found: found as unknown as port.LedgerChanged[Kind][], unread: [] });
      }),
    getContact: (asked, id) => call(asked, () => get(contacts, id)),
    findContacts: (asked, { codes }) =>
      call(asked, () =>
        ok([...contacts.values()].filter(({ code }) => codes.includes(code ?? ""))),
      ),
    createContacts: (asked, drafts) =>
      call(asked, () => create(() => drafts.map((draft) => createContact(documents, draft)))),
    createInvoices: (asked, drafts) =>
      call(asked, () =>
        create(() =>
          drafts.map((draft) => faultOf(documents, draft) ?? createInvoice(documents, draft)),
        ),
      ),
    getInvoice: (asked, id) => call(asked, () => get(invoices, id)),
    findInvoices: (asked, query) => call(asked, () => find(invoices, query)),
    amendInvoice: (asked, amendment) => call(asked, () => amend(documents, amendment)),
    createCreditNotes: (asked, drafts) =>
      call(asked, () =>
        create(() =>
          drafts.map((draft) => {
            const fault = faultOf(documents, draft);
            if (fault !== null) return fault;
            const document = documentOf(draft, documents.now());
            const note = { ...document, remainingCredit: document.total, allocations: [] };
            notes.set(note.id, note);
            return ok(note);
          }),
        ),
      ),
    getCreditNote: (asked, id) => call(asked, () => get(notes, id)),
    findCreditNotes: (asked, query) => call(asked, () => find(notes, query)),
    allocateCredit: (asked, application) => call(asked, () => allocate(documents, application)),
    removeInvoice: (asked, id, which) => call(asked, () => remove(documents, id, which)),
    close: async () => undefined,
  };
}

type ChangedObject = port.LedgerContact | port.LedgerInvoice | port.LedgerCreditNote;

function withoutLines(kind: port.LedgerChangeKind, one: ChangedObject): ChangedObject {
  return kind === "invoices" ? { ...(one as port.LedgerInvoice), lines: [] } : one;
}

function createContact(
  { contacts, now }: MemoryDocuments,
  draft: port.LedgerContactDraft,
): port.LedgerAnswer<port.LedgerContact> {
  const others = [...contacts.values()];
  if (/[<>]/.test(draft.name))
    return refused("contact_name_invalid", "A name has no angle brackets");
  if (others.some(({ code, name }) => code === draft.code || isSame(name, draft.name)))
    return refused("duplicate_contact", "There is such a contact");
  const flags = {
    status: "active",
    mergedInto: null,
    isCustomer: false,
    isSupplier: false,
  } as const;
  const contact = { id: randomUUID(), ...draft, ...flags, updatedAt: now() };
  contacts.set(contact.id, contact);
  return ok(contact);
}

function isSame(left: string, right: string): boolean {
  return foldText(left) === foldText(right);
}

function faultOf(
  { contacts }: MemoryDocuments,
  draft: port.LedgerCreditNoteDraft,
): port.LedgerFailure | null {
  const { contactId, currency, lines, number, status } = draft;
  if (status !== "approved") return refused("validation", "There are no drafts here");
  if (number.length > traits.documents.maxNumberLength)
    return refused("validation", "The number is too long");
  if (!contacts.has(contactId)) return refused("not_found", "There is no such contact");
  if (!currencies.some(({ code }) => code === currency))
    return refused("currency_not_enabled", `Currency ${currency} is not enabled`);
  return lines.length === 0
    ? refused("validation", "A document has lines")
    : (lines.map(lineFaultOf).find((fault) => fault !== null) ?? null);
}

function lineFaultOf(line: port.LedgerLineDraft): port.LedgerFailure | null {
  const isSold = accounts.some(
    ({ code, active, usableForRevenue }) => code === line.accountCode && active && usableForRevenue,
  );
  if (!isSold) return refused("account_invalid", `Account ${line.accountCode} takes no sales`);
  const isTax = line.taxType === null || Object.hasOwn(taxes, line.taxType);
  return isTax ? null : refused("tax_invalid", `Tax ${line.taxType} is none of sales`);
}

function createInvoice(
  documents: MemoryDocuments,
  draft: port.LedgerInvoiceDraft,
): port.LedgerAnswer<port.LedgerInvoice> {
  const document = documentOf(draft, documents.now());
  const amounts = { amountDue: document.total, amountPaid: zero, amountCredited: zero };
  const invoice = { ...document, ...amounts, dueDate: draft.dueDate };
  documents.invoices.set(invoice.id, invoice);
  return ok(invoice);
}

function amend(
  documents: MemoryDocuments,
  { id, allowed, changes, meaning }: port.LedgerInvoiceAmendment,
): port.LedgerAnswer<port.LedgerAmended> {
  const invoice = documents.invoices.get(id);
  if (invoice === undefined) return refused("not_found", `There is no invoice ${id}`);
  const fault = allowed.includes(invoice.status)
    ? (refusedMoney(invoice) ?? driftOf(documents, invoice, meaning))
    : refused("wrong_status", `Invoice ${invoice.number} is ${invoice.status}`);
  if (fault !== null) return fault;
  const lines = [...invoice.lines];
  const named = new Set(changes.map(({ ledgerLineId }) => ledgerLineId));
  const free = lines.filter(({ ledgerLineId }) => !named.has(ledgerLineId));
  const lineIds: string[] = [];
  for (const change of changes) {
    const line = lineOf(change, change.ledgerLineId);
    const place = lines.findIndex(({ ledgerLineId }) => ledgerLineId === change.ledgerLineId);
    if (change.ledgerLineId !== null && place < 0)
      return refused("drift", "A line is not there any more");
    const equal = free.findIndex((one) => isEqual(one, line));
    const [same] = change.ledgerLineId === null && equal >= 0 ? free.splice(equal, 1) : [];
    if (change.ledgerLineId !== null) lines[place] = line;
    else if (same === undefined) lines.push(line);
    lineIds.push((same ?? line).ledgerLineId);
  }
  if (lines.every((line, index) => isSameLine(line, invoice.lines[index])))
    return ok({ invoice, lineIds });
  const totals = totalsOf(
    lines.map(({ amount }) => ({ amount, taxType: null })),
    "none",
  );
  return ok({ invoice: changeInvoice(documents, invoice, { ...totals, lines }), lineIds });
}

function driftOf(
  { contacts }: MemoryDocuments,
  invoice: port.LedgerInvoice,
  meaning: port.LedgerMeaning | undefined,
) {
  if (meaning === undefined) return null;
  const mergedInto = contacts.get(meaning.contactId)?.mergedInto;
  return refusedDrift(invoice, meaning, mergedInto === invoice.contactId);
}

function isEqual(left: port.LedgerLine, right: port.LedgerLine): boolean {
  return left.description === right.description && left.amount === right.amount;
}

function isSameLine(left: port.LedgerLine, right: port.LedgerLine | undefined): boolean {
  return right !== undefined && left.ledgerLineId === right.ledgerLineId && isEqual(left, right);
}

function allocate(
  documents: MemoryDocuments,
  { creditNoteId, invoiceId, amount, date, meaning }: port.LedgerCreditApplication,
): port.LedgerAnswer<port.LedgerCreditNote> {
  const [note, invoice] = [documents.notes.get(creditNoteId), documents.invoices.get(invoiceId)];
  if (note === undefined || invoice === undefined)
    return refused("not_found", "The note or the invoice is not there");
  const drift = driftOf(documents, invoice, meaning);
  if (drift !== null) return drift;
  if (note.status === "voided" || invoice.status === "voided")
    return refused("wrong_status", "A voided document takes no credit");
  if (isMore(amount, note.remainingCredit) || isMore(amount, invoice.amountDue))
    return refused("amount_exceeds", "That is more than is left");
  const amountCredited = minus(invoice.amountCredited, minus(zero, amount));
  changeInvoice(documents, invoice, { amountCredited });
  const allocation = { id: randomUUID(), invoiceId, amount, date };
  const remainingCredit = minus(note.remainingCredit, amount);
  const status = remainingCredit === zero ? ("paid" as const) : note.status;
  const allocations = [...note.allocations, allocation];
  const next = { ...note, status, remainingCredit, allocations, updatedAt: documents.now() };
  documents.notes.set(next.id, next);
  return ok(next);
}

function remove(
  documents: MemoryDocuments,
  id: string,
  which: { readonly onlyUnsent: boolean } | undefined,
): port.LedgerAnswer<port.LedgerRemoval> {
  const found = documents.invoices.get(id);
  const checked = checkRemoval(found === undefined ? notFound : ok(found), which);
  if (checked.kind !== "removable") return checked;
  const invoice = changeInvoice(documents, checked.invoice, { status: "voided" });
  return ok({ outcome: "voided", invoice });
}

function ok<T>(value: T): { readonly kind: "ok"; readonly value: T } {
  return { kind: "ok", value };
}
