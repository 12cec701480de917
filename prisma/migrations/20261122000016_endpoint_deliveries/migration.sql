-- Deliveries are claimed endpoint by endpoint: what is due is found by its endpoint. The time at which one is due is that of its next attempt; those that
-- are under way are due again when their claim is over.
DROP INDEX "webhook_deliveries_due";
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" ("endpoint_id", "due_at") WHERE state = 'pending';
