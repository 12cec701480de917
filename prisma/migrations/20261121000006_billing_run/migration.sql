-- The billing run as operators see it: entries about subscriptions in the audit log, and what is set aside.

ALTER TABLE "audit_log"
  DROP CONSTRAINT "audit_log_target_kind",
  ADD CONSTRAINT "audit_log_target_kind" CHECK (target_kind IN ('organisation', 'ledger_connection', 'account_mapping', 'api_key', 'plan',
    'charge', 'customer', 'document', 'subscription', 'operator', 'operator_token'));

-- What is set aside is looked for among all that is not.
CREATE INDEX "subscriptions_set_aside" ON "subscriptions" (organisation_id, seq) WHERE parked_until IS NOT NULL;
