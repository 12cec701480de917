-- A usage event never changes, and can be voided once. It is deleted only once its id is kept.
CREATE OR REPLACE FUNCTION refuse_usage_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND is_dropped_usage(OLD.organisation_id, OLD.event_id) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'DELETE' OR OLD.voided_at IS NOT NULL
    OR (OLD.organisation_id, OLD.event_id, OLD.subscription_id, OLD.meter_id, OLD.period_index,
      OLD.bill, OLD.quantity, OLD.occurred_at,
      OLD.created_at) IS DISTINCT FROM (NEW.organisation_id, NEW.event_id, NEW.subscription_id,
        NEW.meter_id, NEW.period_index, NEW.bill,
      NEW.quantity, NEW.occurred_at, NEW.created_at)
  THEN
    RAISE EXCEPTION 'a usage event is stored for ever as it was reported' USING
      ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
