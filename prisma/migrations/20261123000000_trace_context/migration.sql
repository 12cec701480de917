-- The trace of the request or run that left the work, as W3C Trace Context's traceparent. Within a
-- trace a transaction sets billing.traceparent for itself. Without one the columns are null.
CREATE FUNCTION current_traceparent() RETURNS text LANGUAGE sql STABLE
  RETURN nullif(current_setting('billing.traceparent', true), '');

ALTER TABLE ledger_jobs ADD COLUMN traceparent TEXT;
ALTER TABLE ledger_jobs ALTER COLUMN traceparent SET DEFAULT current_traceparent();

ALTER TABLE outbox ADD COLUMN traceparent TEXT;
ALTER TABLE outbox ALTER COLUMN traceparent SET DEFAULT current_traceparent();

-- The trace of the first change that the event is about.
ALTER TABLE events ADD COLUMN traceparent TEXT;
