-- A job that names a document is of the document's subscription.
CREATE OR REPLACE FUNCTION check_job_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM ledger_jobs o
    WHERE o.id = NEW.id AND NOT is_of_subscription(o.organisation_id, o.subscription_id,
      ARRAY[o.invoice_id], o.credit_note_id)
  ) THEN
    PERFORM refuse(TG_NAME, format('operation %s is about a document of another subscription',
      NEW.id));
  END IF;
  RETURN NULL;
END $$;
