/**
 * The timeline of a subscription: what was requested and by whom, what was decided and issued, what
 * the ledger accepted or refused, what was paid, and who was notified. It reads the rows that the
 * service keeps anyway, newest first. SQL, because one list has a dozen tables. ADMIN-12.
 */
import { isId } from "../../database/ids.ts";
import type { Page } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import {
  bigint,
  instant,
  int,
  json,
  jsonRow,
  type RowOf,
  text,
  uuid,
} from "../../database/sql/columns.ts";
import { joinSql, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { hasSubscription } from "../../subscriptions/subscriptions.ts";
import { entriesText } from "./timeline-entries.ts";

/** The kinds of entries. */
export type TimelineKind =
  | "created"
  | "units_changed"
  | "end_requested"
  | "restored"
  | "deferred"
  | "issued"
  | "amended"
  | "waiting"
  | "posted"
  | "refused"
  | "abandoned"
  | "credited"
  | "paid"
  | "voided"
  | "deleted"
  | "removed"
  | "removal_refused"
  | "kept"
  | "ended"
  | "end_refused"
  | "parked"
  | "published"
  | "delivered"
  | "delivery_failed"
  | "delivery_waiting"
  | "delivery_ended"
  | "operator";

/** The ledger jobs of a subscription. */
export type TimelineJob =
  | "create_invoice"
  | "create_credit_note"
  | "amend_invoice"
  | "allocate_credit"
  | "end_subscription";

/**
 * The facts of an entry. A member that its kind does not have is absent or null. Instants
 * are ISO 8601, amounts have four places, documents are their numbers.
 */
export interface TimelineDetail {
  readonly plan?: string;
  /** The instant by the organisation's clock. */
  readonly organisationTime?: string;
  readonly fromUnits?: number;
  readonly toUnits?: number;
  readonly deferred?: boolean;
  readonly invoice?: string | null;
  readonly renewalInvoice?: string | null;
  readonly creditNote?: string | null;
  readonly when?: "now" | "period_end";
  readonly removals?: number;
  readonly amount?: string;
  readonly currency?: string;
  /** The type of an invoice or of an event. */
  readonly type?: string | null;
  readonly jobKind?: TimelineJob | null;
  /** The job, if it is not the entry's own id. */
  readonly jobId?: string;
  readonly reason?: string | null;
  readonly message?: string | null;
  readonly attempts?: number;
  readonly nextAttemptAt?: string | null;
  readonly reversed?: boolean;
  readonly outcome?: string | null;
  readonly reissued?: boolean;
  readonly eventId?: string;
  readonly deliveryId?: string;
  readonly endpointId?: string;
  readonly url?: string;
  /** The HTTP status of a receiver. */
  readonly status?: number | null;
  readonly operation?: string;
  /** The operator's name as it was then. */
  readonly operator?: string;
}

const requesterRow = { kind: text.as<"api_key" | "operator">(), id: uuid, name: text };

/** Who requested it: an API key or an operator. */
export type TimelineRequester = RowOf<typeof requesterRow>;

const documentRow = {
  kind: text.as<"invoice" | "credit_note">(),
  id: uuid,
  number: text,
  ledgerId: text.orNull(),
};

/** The document of an entry. `ledgerId` is null while the ledger does not have it. */
export type TimelineDocument = RowOf<typeof documentRow>;

/** The position of an entry: its instant in microseconds, its rank and its id. */
export interface TimelinePosition {
  readonly micros: bigint;
  readonly rank: number;
  readonly id: string;
}

/** One entry. `reason` is an operator's. */
export interface TimelineEntry extends TimelinePosition {
  readonly at: Date;
  readonly kind: TimelineKind;
  readonly detail: TimelineDetail;
  readonly document: TimelineDocument | null;
  readonly requester: TimelineRequester | null;
  readonly reason: string | null;
}

/** Selects entries: before a position, not earlier than an instant, of some kinds. */
interface TimelineQuery {
  readonly limit: number;
  readonly after: TimelinePosition | null;
  readonly since: Date | null;
  /** Only entries of these kinds. Null excludes none. */
  readonly kinds: readonly TimelineKind[] | null;
}

// The rows from which entries are read, each found by an index.
const open = sql`('ready', 'sending', 'uncertain')`;

/** The documents of the subscription. */
const documents = sql`document AS (
  SELECT 'invoice' AS kind, i.id, i.number, i.type, i.status, i.currency, i.subtotal,
    i.ledger_invoice_id AS ledger_id, i.ledger_reported_at AS reported_at, i.created_at
  FROM invoices i WHERE i.organisation_id = $1 AND i.subscription_id = $2
  UNION ALL
  SELECT 'credit_note', n.id, n.number, NULL, n.status, n.currency, n.subtotal,
    n.ledger_credit_note_id, n.ledger_reported_at, n.created_at
  FROM credit_notes n WHERE n.organisation_id = $1 AND n.subscription_id = $2
)`;

/** Its ledger jobs. The open ones are found by their documents, the finished ones by itself. */
const jobs = sql`job AS (
  SELECT o.* FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.subscription_id = $2
    AND o.state IN ('done', 'refused', 'abandoned')
  UNION ALL
  SELECT o.* FROM document d JOIN ledger_jobs o ON o.organisation_id = $1 AND o.invoice_id = d.id
    AND o.kind IN ('create_invoice', 'amend_invoice') AND o.state IN ${open}
  UNION ALL
  SELECT o.* FROM document d JOIN ledger_jobs o ON o.organisation_id = $1
    AND o.credit_note_id = d.id AND o.kind IN ('create_credit_note', 'allocate_credit')
    AND o.state IN ${open}
  UNION ALL
  SELECT o.* FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.subscription_id = $2
    AND o.kind = 'end_subscription' AND o.state IN ${open}
)`;

/** Its events and those of its documents, with their deliveries. */
const events = sql`event AS (
  SELECT e.id, e.type, e.object_id, e.created_at
  FROM (SELECT 'subscription' AS kind, $2::uuid AS id
      UNION ALL SELECT d.kind, d.id FROM document d) s
    JOIN events e ON e.organisation_id = $1 AND e.object_kind = s.kind AND e.object_id = s.id
), delivery AS (
  SELECT v.*, e.type, e.object_id, w.url
  FROM event e
    JOIN webhook_deliveries v ON v.organisation_id = $1 AND v.event_id = e.id
    JOIN webhook_endpoints w ON w.organisation_id = $1 AND w.id = v.endpoint_id
)`;

/** What operators did to the subscription, its documents and the deliveries of its events. */
const logged = sql`logged AS (
  SELECT a.* FROM (SELECT $2::uuid AS id UNION ALL SELECT d.id FROM document d
      UNION ALL SELECT v.id FROM delivery v) t
    JOIN audit_log a ON a.target_id = t.id AND a.organisation_id = $1
)`;

/** The common table expressions, in the order in which each uses the ones before it. */
const factsText = joinSql([documents, jobs, events, logged], ", ");

// Names are read for one page only. A request of an operator has an entry in the audit log that
// names it and its reason.
const readEntries = query({
  name: "list_timeline",
  planned: "each time",
  text: sql`WITH ${factsText}, entry AS (${entriesText}
), page AS (
  SELECT e.*, (extract(epoch FROM e.at) * 1000000)::bigint AS micros FROM entry e
)
SELECT e.id, e.at, e.micros, e.rank, e.kind, e.detail, l.reason,
  CASE WHEN d.id IS NOT NULL THEN json_build_object('kind', d.kind, 'id', d.id,
    'number', d.number, 'ledger_id', d.ledger_id) END AS document,
  CASE WHEN k.id IS NOT NULL THEN json_build_object('kind', 'api_key', 'id', k.id, 'name', k.name)
    WHEN p.id IS NOT NULL THEN json_build_object('kind', 'operator', 'id', p.id, 'name', p.name)
    END AS requester
FROM (SELECT * FROM page WHERE ($3::bigint IS NULL OR (micros, rank, id) < ($3, $4, $5))
      AND ($6::timestamptz IS NULL OR at >= $6)
      AND ($7::text[] IS NULL OR kind = ANY ($7))
    ORDER BY micros DESC, rank DESC, id DESC LIMIT $8) e
  LEFT JOIN document d ON d.id = e.document_id
  LEFT JOIN api_keys k ON k.organisation_id = $1 AND k.id = e.requested_by
  LEFT JOIN operator_tokens o ON o.id = e.requested_by
  LEFT JOIN operators p ON p.id = o.operator_id
  LEFT JOIN LATERAL (SELECT a.after ->> 'reason' AS reason FROM logged a
    WHERE a.after ->> 'request' = coalesce(e.detail ->> 'request', e.id::text) LIMIT 1) l
    ON e.kind IN ('created', 'units_changed', 'end_requested', 'restored')
ORDER BY e.micros DESC, e.rank DESC, e.id DESC`,
  row: {
    id: uuid,
    at: instant,
    micros: bigint,
    rank: int,
    kind: text.as<TimelineKind>(),
    detail: json<TimelineDetail>(),
    document: jsonRow(documentRow).orNull(),
    requester: jsonRow(requesterRow).orNull(),
    reason: text.orNull(),
  },
});

/** Returns a page of entries. Null if the organisation has no such subscription. */
export async function listTimeline(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  { limit, after, since, kinds }: TimelineQuery,
): Promise<Page<TimelineEntry> | null> {
  if (!isId(subscriptionId)) return null;
  const rows = await readEntries(
    pool,
    organisationId,
    subscriptionId,
    after?.micros ?? null,
    after?.rank ?? null,
    after?.id ?? null,
    since,
    kinds,
    limit + 1,
  );
  if (rows.length === 0 && !(await hasSubscription(pool, organisationId, subscriptionId)))
    return null;
  const data = rows.slice(0, limit).map((row) => ({ ...row, micros: BigInt(row.micros) }));
  return { data, hasMore: rows.length > limit };
}
