-- The sums of usage are kept as events are stored and voided. The previous version keeps them too,
-- because triggers do. It reads events, and none of these tables.

CREATE TABLE usage_sums (
  organisation_id UUID NOT NULL,
  subscription_id UUID NOT NULL,
  bill INTEGER NOT NULL,
  period_index INTEGER NOT NULL,
  meter_id UUID NOT NULL,
  events BIGINT NOT NULL,
  quantity DECIMAL(38,4) NOT NULL,
  CONSTRAINT usage_sums_pkey PRIMARY KEY (subscription_id, bill, period_index, meter_id),
  CONSTRAINT usage_sums_counts CHECK (events >= 0 AND quantity >= 0
    AND (events = 0) = (quantity = 0))
) WITH (fillfactor = 70);

CREATE TABLE unsummed_usage (
  subscription_id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  CONSTRAINT unsummed_usage_pkey PRIMARY KEY (subscription_id)
);

ALTER TABLE usage_sums ALTER COLUMN organisation_id SET (n_distinct = 1);
ALTER TABLE unsummed_usage ALTER COLUMN organisation_id SET (n_distinct = 1);

-- Adds stored events to the sums of their bills. Statements take the sums in the order of their
-- key, so that two never deadlock (INVARIANT-5).
CREATE OR REPLACE FUNCTION sum_stored_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_sums AS s (organisation_id, subscription_id, bill, period_index, meter_id,
    events, quantity)
  SELECT organisation_id, subscription_id, bill, period_index, meter_id, count(*), sum(quantity)
  FROM stored WHERE voided_at IS NULL
  GROUP BY organisation_id, subscription_id, bill, period_index, meter_id
  ORDER BY subscription_id, bill, period_index, meter_id
  ON CONFLICT (subscription_id, bill, period_index, meter_id) DO UPDATE SET
    events = s.events + excluded.events, quantity = s.quantity + excluded.quantity;
  RETURN NULL;
END $$;

-- Subtracts voided events from the sums of their bills. An event changes in no other way. The lock
-- of its subscription's usage is held exclusively, so no other statement writes these sums. A
-- subscription whose earlier usage is not summed yet is left out: it is summed as a whole.
CREATE OR REPLACE FUNCTION sum_voided_usage() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE usage_sums s SET events = s.events - v.events, quantity = s.quantity - v.quantity
  FROM (SELECT subscription_id, bill, period_index, meter_id, count(*) AS events,
      sum(quantity) AS quantity
    FROM changed WHERE voided_at IS NOT NULL
    GROUP BY subscription_id, bill, period_index, meter_id) v
  WHERE (s.subscription_id, s.bill, s.period_index, s.meter_id)
    = (v.subscription_id, v.bill, v.period_index, v.meter_id)
    AND NOT EXISTS (SELECT FROM unsummed_usage u WHERE u.subscription_id = s.subscription_id);
  RETURN NULL;
END $$;

-- From here on no event is stored before the migration is committed, and this transaction sees all
-- that are. Writers of usage lock this table before they write to subscriptions.
CREATE TRIGGER usage_events_sum_stored AFTER INSERT ON usage_events REFERENCING NEW TABLE AS stored
  FOR EACH STATEMENT EXECUTE FUNCTION sum_stored_usage();

CREATE TRIGGER usage_events_sum_voided AFTER UPDATE ON usage_events REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION sum_voided_usage();

ALTER TABLE usage_sums
  ADD CONSTRAINT usage_sums_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT usage_sums_organisation_id_meter_id_fkey FOREIGN KEY (organisation_id,
    meter_id) REFERENCES meters(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

-- Only these can have earlier events. They are summed after the migration, in batches.
INSERT INTO unsummed_usage (organisation_id, subscription_id)
SELECT s.organisation_id, s.id FROM subscriptions s
WHERE EXISTS (SELECT FROM plan_meters m
  WHERE m.organisation_id = s.organisation_id AND m.plan_id = s.plan_id);

ALTER TABLE unsummed_usage
  ADD CONSTRAINT unsummed_usage_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;
