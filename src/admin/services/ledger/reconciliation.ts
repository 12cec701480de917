/**
 * LedgerReconciliationService: finds the documents of the ledger that a restored database does not
 * know, and lets operators decide about them. LEDGER-19
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../../../domain/refusal.ts";
import type {
  LedgerReconciliationService,
  ReconcileLedgerRequest,
  UnknownDocumentSchema,
} from "../../../gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import type { LedgerCreditNote, LedgerInvoice } from "../../../ledger/port/ledger.ts";
import { documentStatuses } from "../../../present/enums.ts";
import type { AdminUnknownDocument } from "../../../store/admin/ledger/resolve-unknown-document.ts";
import type { FoundUnknown } from "../../../store/admin/ledger/unknown-documents.ts";
import { isId } from "../../../store/database/ids.ts";
import { documentKinds, unknownDocumentStates } from "../../present/enums.ts";
import { membersOf } from "../../present/present.ts";
import {
  type AdminCall,
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  pageOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";
import { askLedger } from "./ledger-answers.ts";

/** How many invoices one call of the ledger reads with their lines. */
const linesAtOnce = 40;

/** The kinds, in the order in which they are read. */
const kinds = ["invoices", "credit_notes"] as const;

type Kind = (typeof kinds)[number];

const rowKinds = { invoices: "invoice", credit_notes: "credit_note" } as const;

const linkPaths = { invoices: "/v1/invoices/", credit_notes: "/v1/credit_notes/" } as const;

/**
 * The position of a reconciliation: the kind, its start, the ledger's own cursor, and whether links
 * to other hosts than ours count.
 */
interface Position {
  readonly kind: Kind;
  readonly since: string | null;
  readonly cursor: string | null;
  readonly anyHost: boolean;
}

/**
 * Implements the service. Refuses `organisation_not_found`, `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`, `invoice_not_found`, `invalid_state`.
 */
export function ledgerReconciliationService(
  deps: AdminDependencies,
): AdminImplementation<typeof LedgerReconciliationService> {
  const { unknownDocuments } = deps.store;
  return {
    reconcileLedger: async (request, call) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const position = await positionOf(deps, id, request);
      return reconcilePage(deps, id, position, call);
    },
    listUnknownDocuments: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { data, hasMore } = await unknownDocuments.list(id, pageOf(request));
      return { data: data.map(presentUnknown), hasMore };
    },
    resolveUnknownDocument: async ({ organisation, id, document }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const named = document ?? null;
      const found = await unknownDocuments.resolve(actorOf(call), owner.id, id, named);
      const resolved = required(found, "invoice_not_found");
      await deps.wake(owner.id);
      return { document: presentUnknown(resolved) };
    },
  };
}

async function reconcilePage(
  deps: AdminDependencies,
  organisationId: string,
  position: Position,
  call: AdminCall,
) {
  const { unknownDocuments } = deps.store;
  const rowKind = rowKinds[position.kind];
  const page = await askLedger(deps, organisationId, (ledger, ledgerCall) =>
    ledger.listChanges<Kind>(ledgerCall, {
      kind: position.kind,
      ...(position.since !== null && { since: position.since }),
      ...(position.cursor !== null && { cursor: position.cursor }),
    }),
  );
  const documents: readonly (LedgerInvoice | LedgerCreditNote)[] = page.changes;
  const compared = documents
    .filter(({ sourceUrl }) => position.anyHost || isOfHost(sourceUrl, deps.publicUrl))
    .map(({ id, number, sourceUrl }) => {
      return { ledgerId: id, number, ownId: ownIdOf(position.kind, sourceUrl) };
    });
  const ids = await unknownDocuments.unknownOf(organisationId, rowKind, compared);
  const unknown = documents.filter(({ id }) => ids.has(id));
  const next = positionAfter(position, page.cursor);
  const found = await withLines(deps, organisationId, position.kind, unknown);
  const actor = actorOf(call);
  const saved = await unknownDocuments.save(actor, organisationId, rowKind, found, next === null);
  return {
    data: saved.map(presentUnknown),
    read: documents.length,
    unread: page.unread.length,
    hasMore: next !== null,
    nextCursor: next === null ? undefined : cursorOf(next),
  };
}

/** A list of changed invoices has no lines, by which documents are compared. */
async function withLines(
  deps: AdminDependencies,
  organisationId: string,
  kind: Kind,
  documents: readonly (LedgerInvoice | LedgerCreditNote)[],
): Promise<readonly FoundUnknown[]> {
  if (kind === "credit_notes") return documents.map(foundOf);
  const read = new Map<string, LedgerInvoice>();
  for (let first = 0; first < documents.length; first += linesAtOnce) {
    const numbers = documents.slice(first, first + linesAtOnce).map(({ number }) => number);
    const invoices = await askLedger(deps, organisationId, (ledger, call) =>
      ledger.findInvoices(call, { numbers }),
    );
    for (const invoice of invoices) read.set(invoice.id, invoice);
  }
  return documents.map((document) => foundOf(read.get(document.id) ?? document));
}

function foundOf(document: LedgerInvoice | LedgerCreditNote): FoundUnknown {
  const { id, number, contactId, status, currency, reference } = document;
  const { issueDate, subtotal, total } = document;
  const lines = document.lines.map(({ description, amount }) => ({ description, amount }));
  const texts = { number, contactId, status, currency, reference };
  return { ledgerId: id, ...texts, issueDate, subtotal, total, lines };
}

/**
 * Whether the document may be ours by its link: it has none, or one to the host of PUBLIC_URL. Any
 * other one belongs to another installation or program (LEDGER-19).
 */
function isOfHost(sourceUrl: string | null, publicUrl: string | null): boolean {
  const host = URL.parse(sourceUrl ?? "")?.host ?? null;
  return host === null || host === URL.parse(publicUrl ?? "")?.host;
}

/** The id in a link to a document of ours, whatever the host. Null for any other link. */
function ownIdOf(kind: Kind, sourceUrl: string | null): string | null {
  const [, id] = new RegExp(`${linkPaths[kind]}([0-9a-f-]{36})$`).exec(sourceUrl ?? "") ?? [];
  return id !== undefined && isId(id) ? id : null;
}

async function positionOf(
  deps: AdminDependencies,
  organisationId: string,
  { since, cursor, anyHost = false }: Pick<ReconcileLedgerRequest, "since" | "cursor" | "anyHost">,
): Promise<Position> {
  if (cursor !== undefined) return readCursor(cursor);
  if (since !== undefined && Number.isNaN(Date.parse(since)))
    throw new Refusal("invalid_parameter", "since must be an instant in ISO 8601", "since");
  const fallback = await deps.store.unknownDocuments.since(organisationId);
  const start = since === undefined ? fallback : new Date(since);
  return { kind: kinds[0], since: start?.toISOString() ?? null, cursor: null, anyHost };
}

function positionAfter(position: Position, cursor: string | null): Position | null {
  if (cursor !== null) return { ...position, cursor };
  const next = kinds[kinds.indexOf(position.kind) + 1];
  return next === undefined ? null : { ...position, kind: next, cursor: null };
}

function cursorOf(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

function readCursor(text: string): Position {
  try {
    const { kind, since, cursor, anyHost } = JSON.parse(
      Buffer.from(text, "base64url").toString(),
    ) as Position;
    const texts = [since, cursor].every((one) => one === null || typeof one === "string");
    if (kinds.includes(kind) && texts) return { kind, since, cursor, anyHost: anyHost === true };
  } catch {
    // Refused below.
  }
  throw new Refusal("invalid_parameter", "cursor is not one of an earlier page", "cursor");
}

function presentUnknown(
  unknown: AdminUnknownDocument,
): MessageInitShape<typeof UnknownDocumentSchema> {
  return {
    ...membersOf(unknown),
    id: unknown.ledgerId,
    kind: documentKinds[unknown.kind],
    state: unknownDocumentStates[unknown.state],
    status: documentStatuses[unknown.status],
    customer: unknown.customerId ?? undefined,
    ledgerContactId: unknown.contactId,
    document: unknown.documentId ?? undefined,
    numberTaken: unknown.isNumberTaken,
  };
}
