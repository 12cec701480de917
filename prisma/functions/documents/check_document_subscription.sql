-- A document that such a row names stays with its subscription.
CREATE OR REPLACE FUNCTION check_document_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM ledger_jobs o
    WHERE o.organisation_id = NEW.organisation_id AND NEW.id IN (o.invoice_id, o.credit_note_id)
      AND o.kind <> 'create_invoice'
      AND o.subscription_id <> NEW.subscription_id
  ) OR EXISTS (
    SELECT 1 FROM deferred_lines d
    WHERE d.organisation_id = NEW.organisation_id AND d.invoice_id = NEW.id
      AND d.subscription_id <> NEW.subscription_id
  ) OR EXISTS (
    SELECT 1 FROM unit_changes u
    WHERE u.organisation_id = NEW.organisation_id AND NEW.id IN (u.invoice_id, u.renewal_invoice_id,
      u.credit_note_id)
      AND u.subscription_id <> NEW.subscription_id
  ) THEN
    PERFORM refuse(TG_NAME, format('%s %s is moved away from rows that name its subscription',
      TG_TABLE_NAME, NEW.id));
  END IF;
  RETURN NULL;
END $$;
