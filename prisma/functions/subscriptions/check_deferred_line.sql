-- A deferred line is billed by a document of its subscription.
CREATE OR REPLACE FUNCTION check_deferred_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM deferred_lines d
    WHERE d.id = NEW.id AND NOT is_of_subscription(d.organisation_id, d.subscription_id,
      ARRAY[d.invoice_id], NULL)
  ) THEN
    PERFORM refuse(TG_NAME,
      format('deferred line %s is billed on an invoice of another subscription', NEW.id));
  END IF;
  RETURN NULL;
END $$;
