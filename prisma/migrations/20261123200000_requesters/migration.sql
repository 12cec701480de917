-- Expands the schema for the timeline of a subscription.

-- Who asked: the id of the API key, or of the operator's token. Null for requests of earlier
-- versions.
ALTER TABLE subscriptions ADD COLUMN requested_by UUID;
ALTER TABLE unit_changes ADD COLUMN requested_by UUID;
ALTER TABLE terminations ADD COLUMN requested_by UUID;
ALTER TABLE restorations ADD COLUMN requested_by UUID;

-- When it was created by the database's clock, also in a sandbox. Null for earlier rows, which must
-- not get the time of this migration.
ALTER TABLE subscriptions ADD COLUMN recorded_at TIMESTAMPTZ(6);
ALTER TABLE subscriptions ALTER COLUMN recorded_at SET DEFAULT CURRENT_TIMESTAMP;

-- The finished jobs of a subscription. A job enters the index once, when it is finished.
CREATE INDEX ledger_jobs_finished ON ledger_jobs (subscription_id, seq)
  WHERE state IN ('done', 'refused', 'abandoned');
