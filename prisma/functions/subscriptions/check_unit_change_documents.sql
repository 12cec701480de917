-- A change of units names documents of its subscription.
CREATE OR REPLACE FUNCTION check_unit_change_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM unit_changes u
    WHERE u.id = NEW.id
      AND NOT is_of_subscription(u.organisation_id, u.subscription_id, ARRAY[u.invoice_id,
        u.renewal_invoice_id], u.credit_note_id)
  ) THEN
    PERFORM refuse(TG_NAME, format('change of units %s names a document of another subscription',
      NEW.id));
  END IF;
  RETURN NULL;
END $$;
