-- Checks the subtotals of new invoices by statement, where each row had two checks. The rule stays:
-- at the end of a transaction an invoice's subtotal is the sum of its lines. The previous version
-- writes the same rows.

-- The strongest lock of the statements below. A weaker one would deadlock when it grows, if a
-- transaction has read the table and is about to write it.
LOCK TABLE invoices, invoice_lines IN ACCESS EXCLUSIVE MODE;

-- Most statements write an invoice with all its lines. Their sums are compared at once. A row that
-- does not agree yet is written again unchanged, so that the deferred check of updates reads it at
-- the end of the transaction. Each later change has its own check. The sums are scalar subqueries,
-- which are looked up by index for each row, whatever the tables' statistics were.
CREATE FUNCTION defer_invoice_subtotals() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
  differing uuid[];
BEGIN
  IF TG_TABLE_NAME = 'invoices' THEN
    differing := ARRAY(SELECT n.id FROM now_rows n
      WHERE n.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l
        WHERE l.organisation_id = n.organisation_id AND l.invoice_id = n.id));
    IF cardinality(differing) > 0 THEN
      UPDATE invoices SET subtotal = subtotal WHERE id = ANY (differing);
    END IF;
  ELSE
    differing := ARRAY(SELECT n.id
      FROM (SELECT invoice_id, (array_agg(id))[1] AS id FROM now_rows GROUP BY invoice_id) n
      WHERE EXISTS (SELECT 1 FROM invoices i WHERE i.id = n.invoice_id
        AND i.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l
          WHERE l.organisation_id = i.organisation_id AND l.invoice_id = i.id) OFFSET 0));
    IF cardinality(differing) > 0 THEN
      UPDATE invoice_lines SET amount = amount WHERE id = ANY (differing);
    END IF;
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER invoices_subtotal ON invoices;

CREATE CONSTRAINT TRIGGER invoices_subtotal AFTER UPDATE OF subtotal ON invoices
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice();

CREATE TRIGGER invoices_subtotal_insert AFTER INSERT ON invoices
  REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION defer_invoice_subtotals();

-- A change of another column, such as the ledger's id of the line, changes no sum.
DROP TRIGGER invoice_lines_subtotal ON invoice_lines;

CREATE CONSTRAINT TRIGGER invoice_lines_subtotal
  AFTER UPDATE OF organisation_id, invoice_id, amount OR DELETE ON invoice_lines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_line();

CREATE TRIGGER invoice_lines_subtotal_insert AFTER INSERT ON invoice_lines
  REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION defer_invoice_subtotals();

-- A document's lines are shown with it. The lines of an invoice that this transaction has created
-- add no entry to the one of the invoice: the relay takes both or none (EVENT-1). The subquery is
-- looked up by index for each invoice. In a savepoint the rows have another transaction id, and the
-- lines have their entry.
CREATE OR REPLACE FUNCTION outbox_lines() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    -- A line that moves changes both its invoices.
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'invoice', i.id, 'updated' FROM now_rows n
        JOIN old_rows o ON o.id = n.id
          CROSS JOIN LATERAL (VALUES (n.invoice_id), (o.invoice_id)) i(id)
        WHERE (n.invoice_id, n.position, n.kind, n.name, n.description, n.units, n.quantity,
          n.unit_price, n.amount, n.period_start, n.period_end,
            n.from_units, n.to_units, n.days_remaining, n.days_in_period, n.amending)
          IS DISTINCT FROM (o.invoice_id, o.position, o.kind, o.name, o.description, o.units,
            o.quantity, o.unit_price, o.amount, o.period_start,
            o.period_end, o.from_units, o.to_units, o.days_remaining, o.days_in_period, o.amending);
  ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'invoice', n.invoice_id, 'updated'
        FROM (SELECT DISTINCT organisation_id, invoice_id FROM now_rows) n
        WHERE (SELECT o.seq FROM outbox o WHERE o.organisation_id = n.organisation_id
          AND o.object_kind = 'invoice' AND o.object_id = n.invoice_id AND o.change = 'created'
          AND o.xmin = pg_current_xact_id()::xid LIMIT 1) IS NULL;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'invoice', invoice_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;
