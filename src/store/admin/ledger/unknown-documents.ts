/**
 * Documents of the ledger that a restored database does not know, for operators: finding them,
 * listing them and deciding about them. SQL, because a page of a thousand documents is compared
 * with the rows here in one statement. LEDGER-19
 */
import { unknownPosition } from "../../../domain/refusal.ts";
import type { PageRequest } from "../../database/page.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { text } from "../../database/sql/columns.ts";
import { type Sql, sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { type DocumentKind, documentKinds, ofKinds } from "../../documents/document-kinds.ts";
import { stands } from "../../documents/document-presence.ts";
import { isAnothers } from "../../ledger-jobs/unknown-documents.ts";
import { type Actor, type Changed, type Changes, changed } from "../changes.ts";
import {
  type AdminUnknownDocument,
  resolveUnknown,
  selectUnknown,
  unknownRow,
} from "./resolve-unknown-document.ts";

/** A document of the ledger to compare. `ownId` is the id of ours to which its link leads. */
export interface ComparedDocument {
  readonly ledgerId: string;
  readonly number: string;
  readonly ownId: string | null;
}

/** An unknown document to store. Amounts are decimal text, the date is `YYYY-MM-DD`. */
export interface FoundUnknown {
  readonly ledgerId: string;
  readonly number: string;
  readonly contactId: string;
  readonly status: string;
  readonly currency: string;
  readonly reference: string;
  readonly issueDate: string;
  readonly subtotal: string;
  readonly total: string;
  readonly lines: readonly { readonly description: string; readonly amount: string }[];
}

const dayMs = 24 * 60 * 60 * 1_000;

const listOpen = query({
  name: "list_unknown_documents",
  text: sql`${selectUnknown} WHERE u.organisation_id = $1 AND u.state = 'open'
      AND ($2::text IS NULL OR (u.number, u.ledger_id) > (
        SELECT s.number, s.ledger_id FROM unknown_documents s
        WHERE s.organisation_id = $1 AND s.ledger_id = $2 LIMIT 1))
    ORDER BY u.number, u.ledger_id LIMIT $3`,
  row: unknownRow,
});

/** Creates the store over changes. */
export function createUnknownDocumentStore(pool: Pool, { run }: Changes) {
  return {
    /** A day before the newest ledger job. Null if there is none: then all documents are read. */
    since: async (organisationId: string) => {
      const newest = await db(pool).ledgerJob.findFirst({
        where: { organisationId },
        orderBy: { seq: "desc" },
        select: { createdAt: true },
      });
      return newest && new Date(newest.createdAt.getTime() - dayMs);
    },
    /** The ledger's ids of those that are unknown here. */
    unknownOf: async (
      organisationId: string,
      kind: DocumentKind,
      documents: readonly ComparedDocument[],
    ) => {
      const find = findUnknown[kind];
      const rows = await find(pool, organisationId, kind, JSON.stringify(documents));
      return new Set(rows.map(({ ledgerId }) => ledgerId));
    },
    /** Stores them, or their current status. An end of the reading moves the numbers past them. */
    save: (
      actor: Actor,
      organisationId: string,
      kind: DocumentKind,
      found: readonly FoundUnknown[],
      isEnd: boolean,
    ) => run(actor, (tx) => save(tx, organisationId, kind, found, isEnd)),
    /** Lists the open ones, by their numbers. Refuses `invalid_parameter` for a position. */
    list: async (organisationId: string, { limit, startingAfter }: PageRequest) => {
      const rows = await listOpen(pool, organisationId, startingAfter, limit + 1);
      // Nothing follows a position that is none.
      if (rows.length === 0 && startingAfter !== null)
        await requirePosition(pool, organisationId, startingAfter);
      return { data: rows.slice(0, limit), hasMore: rows.length > limit };
    },
    resolve: (actor: Actor, organisationId: string, ledgerId: string, documentId: string | null) =>
      run(actor, (tx) => resolveUnknown(tx, organisationId, ledgerId, documentId)),
  };
}

async function requirePosition(pool: Pool, organisationId: string, id: string): Promise<void> {
  const where = { organisationId, ledgerId: id };
  if ((await db(pool).unknownDocument.findFirst({ where })) !== null) return;
  throw unknownPosition();
}

/** SQL: the count in a number of this kind, null if the number is not one of the organisation. */
function countOf(kind: DocumentKind, number: Sql): Sql {
  const prefix = documentKinds[kind].numberPrefix;
  const rest = sql`substr(${number}, length(${prefix}) + 1)`;
  return sql`CASE WHEN starts_with(${number}, ${prefix}) AND ${rest} ~ '^[0-9]{4,15}$'
    THEN ${rest}::bigint END`;
}

// Ours is a document with a link to us. Without a link it is one under a number that only we would
// use: one that is not reserved yet, or one whose document here is not in the ledger. What any
// organisation has is known.
const findUnknown = ofKinds((kind) => {
  const { table, ledgerId } = documentKinds[kind];
  return query({
    name: `unknown_${table}`,
    text: sql`
      SELECT d."ledgerId" AS ledger_id
      FROM
        jsonb_to_recordset($3) AS d ("ledgerId" text, number text, "ownId" uuid)
        JOIN organisations o ON o.id = $1
        LEFT JOIN document_counters k ON k.organisation_id = $1 AND k.kind = $2
      WHERE
        NOT EXISTS (
          SELECT 1
          FROM ${table} i
          WHERE i.organisation_id = $1 AND i.${ledgerId} = d."ledgerId"
        )
        AND NOT ${isAnothers(kind, sql`d."ledgerId"`)}
        AND NOT EXISTS (SELECT 1 FROM ${table} i WHERE i.id = d."ownId")
        AND (
          d."ownId" IS NOT NULL
          OR EXISTS (
            SELECT 1
            FROM unknown_documents u
            WHERE u.organisation_id = $1 AND u.kind = $2 AND u.ledger_id = d."ledgerId"
          )
          OR EXISTS (
            SELECT 1
            FROM ${table} i
            WHERE i.organisation_id = $1 AND i.number = d.number AND i.${ledgerId} IS NULL
          )
          OR ${countOf(kind, sql`d.number`)} >= coalesce(k.next, 1)
        )
    `,
    row: { ledgerId: text },
  });
});

const saveUnknown = command({
  name: "save_unknown_documents",
  text: sql`
    INSERT INTO unknown_documents AS u (
      organisation_id, kind, ledger_id, number, contact_id, status, currency, reference, issue_date,
      subtotal, total, lines, state
    )
    SELECT
      $1, $2, r."ledgerId", r.number, r."contactId", r.status, r.currency, r.reference,
      r."issueDate", r.subtotal, r.total, r.lines,
      CASE WHEN ${stands(sql`r`)} THEN 'open' ELSE 'removed' END
    FROM
      jsonb_to_recordset($3) AS r (
        "ledgerId" text, number text, "contactId" text, status text, currency text, reference text,
        "issueDate" date, subtotal numeric, total numeric, lines jsonb
      )
    ORDER BY r."ledgerId"
    ON CONFLICT (organisation_id, kind, ledger_id) DO UPDATE
      SET
        number = excluded.number,
        contact_id = excluded.contact_id,
        status = excluded.status,
        subtotal = excluded.subtotal,
        total = excluded.total,
        lines = excluded.lines,
        state = CASE WHEN u.state IN ('open', 'removed') THEN excluded.state ELSE u.state END
  `,
});

const readSaved = query({
  name: "read_unknown_documents",
  text: sql`${selectUnknown} WHERE u.organisation_id = $1 AND u.kind = $2
      AND u.ledger_id = ANY ($3)
    ORDER BY u.number, u.ledger_id`,
  row: unknownRow,
});

async function save(
  tx: Transaction,
  organisationId: string,
  kind: DocumentKind,
  found: readonly FoundUnknown[],
  isEnd: boolean,
): Promise<Changed<readonly AdminUnknownDocument[]>> {
  await saveUnknown(tx, organisationId, kind, JSON.stringify(found));
  const ids = found.map(({ ledgerId }) => ledgerId);
  const rows = await readSaved(tx, organisationId, kind, ids);
  const numbers = rows.map(({ number }) => number);
  if (isEnd) await moveNumbers(tx, organisationId);
  if (numbers.length === 0) return changed(rows);
  return changed(rows, {
    targetKind: "ledger_connection",
    targetId: organisationId,
    organisationId,
    before: {},
    after: { unknownDocuments: numbers },
  });
}

const count = sql`CASE u.kind WHEN 'invoice' THEN ${countOf("invoice", sql`u.number`)}
    ELSE ${countOf("credit_note", sql`u.number`)} END`;

/**
 * The next numbers are after those that the ledger has. The invoices' counter is locked before the
 * notes', as by every writer that issues both (INVARIANT-5).
 */
const moveNumbers = command({
  name: "move_document_numbers",
  text: sql`
    INSERT INTO document_counters AS k (organisation_id, kind, next)
    SELECT $1, u.kind, max(${count}) + 1
    FROM
      unknown_documents u
      JOIN organisations o ON o.id = $1
    WHERE u.organisation_id = $1
    GROUP BY u.kind
    HAVING max(${count}) IS NOT NULL
    ORDER BY u.kind DESC
    ON CONFLICT (organisation_id, kind) DO UPDATE SET next = greatest(k.next, excluded.next)
  `,
});
