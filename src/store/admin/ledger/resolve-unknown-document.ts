/**
 * An operator's decision about a document of the ledger that a restored database does not know.
 * SQL, because jobs are due by the server's clock. LEDGER-19
 */
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import type { DocumentStatus } from "../../../domain/model/invoice.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { columns } from "../../../gen/columns.ts";
import { shareOrganisation } from "../../billing/locked-subscription.ts";
import { isId } from "../../database/ids.ts";
import { lockSubscriptions } from "../../database/lock-order.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { bool, pick, type RowOf, text, uuid } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { type DocumentKind, ofKinds } from "../../documents/document-kinds.ts";
import { adoptUnknown, isAnothers } from "../../ledger-jobs/unknown-documents.ts";
import { type Changed, changed } from "../changes.ts";

const { unknownDocument } = columns;

const documentRow = {
  ...pick(unknownDocument, "ledgerId", "number", "contactId", "currency", "total", "issueDate"),
  kind: unknownDocument.kind.as<DocumentKind>(),
  state: unknownDocument.state.as<"open" | "adopted" | "dismissed" | "removed">(),
  status: unknownDocument.status.as<DocumentStatus>(),
  documentId: unknownDocument.documentId,
};

/** An unknown document as operators see it. */
export const unknownRow = { ...documentRow, customerId: uuid.orNull(), isNumberTaken: bool };

/** An unknown document as operators see it. */
export type AdminUnknownDocument = RowOf<typeof unknownRow>;

/** SQL: `unknownRow` of the unknown documents `u`. `$1` is the organisation. */
export const selectUnknown = sql`
  SELECT
    ${columnsOf(sql`u`, documentRow)}, c.id AS customer_id,
    CASE u.kind
      WHEN 'invoice' THEN EXISTS (
        SELECT 1
        FROM invoices i
        WHERE i.organisation_id = $1 AND i.number = u.number AND i.id IS DISTINCT FROM u.document_id
      )
      ELSE EXISTS (
        SELECT 1
        FROM credit_notes n
        WHERE n.organisation_id = $1 AND n.number = u.number AND n.id IS DISTINCT FROM u.document_id
      )
    END AS is_number_taken
  FROM
    unknown_documents u
    LEFT JOIN customers c ON c.organisation_id = $1 AND c.ledger_contact_id = u.contact_id
`;

const namedRow = {
  kind: text.as<DocumentKind>(),
  subscriptionId: uuid,
  currency: text,
  status: text.as<DocumentStatus>(),
  contactId: text.orNull(),
};

/** A document here that an operator names. */
type NamedDocument = RowOf<typeof namedRow>;

// Documents that waited for the decision are posted at once.
const bringForward = command({
  name: "bring_waiting_documents_forward",
  text: sql`
    UPDATE ledger_jobs j
    SET not_before = now()
    FROM
      customers c, subscriptions s
    WHERE
      j.organisation_id = $1
      AND c.organisation_id = $1
      AND s.organisation_id = $1
      AND c.ledger_contact_id = $2
      AND s.customer_id = c.id
      AND j.subscription_id = s.id
      AND j.state = 'ready'
      AND j.kind IN ('create_invoice', 'create_credit_note')
  `,
});

/**
 * A document here takes an open one of the ledger, or the operator dismisses that one. Documents
 * that waited for the decision become due. In Setup Mode no document takes one (SETUP-1). Null if
 * either does not exist. Refuses `invalid_state` if the document here cannot take it.
 */
export async function resolveUnknown(
  tx: Transaction,
  organisationId: string,
  ledgerId: string,
  documentId: string | null,
): Promise<Changed<AdminUnknownDocument | null>> {
  const { organisation } = await shareOrganisation(tx, organisationId);
  if (organisation.setupMode && documentId !== null)
    throw new Refusal(
      "invalid_state",
      "The organisation is in Setup Mode: no document takes one of the ledger.",
    );
  const named = documentId === null ? null : await nameDocument(tx, organisationId, documentId);
  const before = await readOne(tx, organisationId, ledgerId);
  if (before === null || (documentId !== null && named === null)) return changed(null);
  const isTaken = named !== null && (await isOfAnother(tx, organisationId, before));
  const unfit = isTaken ? "Another organisation has it." : unfitness(before, named);
  const why = before.state === "open" ? unfit : `It is ${before.state}.`;
  if (why !== null) throw new Refusal("invalid_state", why);
  if (documentId === null) {
    await db(tx).unknownDocument.updateMany({
      where: { organisationId, kind: before.kind, ledgerId, state: "open" },
      data: { state: "dismissed" },
    });
  } else {
    await adoptUnknown(tx, organisationId, before.kind, [{ ledgerId, documentId }]);
  }
  await bringForward(tx, organisationId, before.contactId);
  const after = (await readOne(tx, organisationId, ledgerId)) ?? before;
  const log = ({ number, state, documentId: document }: AdminUnknownDocument) => {
    return { number, state, documentId: document };
  };
  const entry = { targetKind: "ledger_connection", targetId: organisationId } as const;
  return changed(after, { ...entry, organisationId, before: log(before), after: log(after) });
}

const lockOne = query({
  name: "read_unknown_document",
  text: sql`${selectUnknown} WHERE u.organisation_id = $1 AND u.ledger_id = $2
    FOR NO KEY UPDATE OF u`,
  row: unknownRow,
});

async function readOne(
  tx: Transaction,
  organisationId: string,
  ledgerId: string,
): Promise<AdminUnknownDocument | null> {
  const [document] = await lockOne(tx, organisationId, ledgerId);
  return document ?? null;
}

const ofAnothers = ofKinds((kind) =>
  query({
    name: `is_unknown_${kind}_anothers`,
    text: sql`SELECT ${isAnothers(kind, sql`$2`)} AS is_anothers`,
    row: { isAnothers: bool },
  }),
);

async function isOfAnother(
  tx: Transaction,
  organisationId: string,
  { kind, ledgerId }: AdminUnknownDocument,
): Promise<boolean> {
  const [row] = await ofAnothers[kind](tx, organisationId, ledgerId);
  return row?.isAnothers === true;
}

const readNamed = query({
  name: "read_named_document",
  text: sql`
    SELECT
      d.kind, d.subscription_id, d.currency, d.status, c.ledger_contact_id AS contact_id
    FROM
      (
        SELECT 'invoice' AS kind, customer_id, subscription_id, currency, status
        FROM invoices
        WHERE organisation_id = $1 AND id = $2
        UNION ALL
        SELECT 'credit_note', customer_id, subscription_id, currency, status
        FROM credit_notes
        WHERE organisation_id = $1 AND id = $2
      ) d
      JOIN customers c ON c.organisation_id = $1 AND c.id = d.customer_id
  `,
  row: namedRow,
});

/** Reads the document under the lock of its subscription. Null if there is none. */
async function nameDocument(
  tx: Transaction,
  organisationId: string,
  id: string,
): Promise<NamedDocument | null> {
  if (!isId(id)) return null;
  const [found] = await readNamed(tx, organisationId, id);
  if (found === undefined) return null;
  await lockSubscriptions(tx, organisationId, [found.subscriptionId]);
  const [named] = await readNamed(tx, organisationId, id);
  return named ?? null;
}

/** Why the document here cannot take the ledger's one, null if it can. */
function unfitness(unknown: AdminUnknownDocument, named: NamedDocument | null): string | null {
  if (named === null) return null;
  if (named.kind !== unknown.kind) return "The documents are of different kinds.";
  if (presenceOf(named) !== "to_be_sent") return "The document does not wait to be created.";
  if (named.contactId !== unknown.contactId) return "The documents have different customers.";
  return named.currency === unknown.currency ? null : "The documents have different currencies.";
}
