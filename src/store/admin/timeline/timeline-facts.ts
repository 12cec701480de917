/**
 * SQL: the rows from which the timeline of a subscription is read, each found by an index. $1 is
 * the organisation, $2 the subscription. ADMIN-12.
 */
import { joinSql, sql } from "../../database/sql/sql.ts";

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
export const factsText = joinSql([documents, jobs, events, logged], ", ");
