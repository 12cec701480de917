-- Most statements write an invoice with all its lines. Their sums are compared at once. A row that
-- does not agree yet is written again unchanged, so that the deferred check of updates reads it at
-- the end of the transaction. Each later change has its own check. The sums are scalar subqueries,
-- which are looked up by index for each row, whatever the tables' statistics were.
CREATE OR REPLACE FUNCTION defer_invoice_subtotals() RETURNS trigger LANGUAGE plpgsql
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
