/**
 * The timeline of a subscription: what was requested and by whom, what was decided and issued, what
 * the ledger accepted or refused, what was paid, and who was notified. It reads the rows that the
 * service keeps anyway, newest first. SQL, because one list has a dozen tables. ADMIN-12.
 */
import { isId } from "../../database/ids.ts";
import type { Page } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
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
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { entriesText } from "./timeline-entries.ts";
import { factsText } from "./timeline-facts.ts";

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

/** Reads timelines. Null stands for a subscription that the organisation does not have. */
export interface TimelineStore {
  list(
    organisationId: string,
    subscriptionId: string,
    query: TimelineQuery,
  ): Promise<Page<TimelineEntry> | null>;
}

/** Creates the reads over a pool. */
export function createTimelineStore(pool: Pool): TimelineStore {
  return {
    list: async (organisationId, subscriptionId, query) =>
      isId(subscriptionId) ? list(pool, organisationId, subscriptionId, query) : null,
  };
}

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

async function list(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  { limit, after, since, kinds }: TimelineQuery,
): Promise<Page<TimelineEntry> | null> {
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
  if (rows.length === 0 && !(await exists(pool, organisationId, subscriptionId))) return null;
  const data = rows.slice(0, limit).map((row) => ({ ...row, micros: BigInt(row.micros) }));
  return { data, hasMore: rows.length > limit };
}

async function exists(pool: Pool, organisationId: string, id: string): Promise<boolean> {
  const where = { organisationId, id };
  return (await db(pool).subscription.findFirst({ where, select: { id: true } })) !== null;
}
