-- The trace of the request or run that left the work, as W3C Trace Context's traceparent. Within a
-- trace a transaction sets billing.traceparent for itself. Without one the columns are null.
CREATE OR REPLACE FUNCTION current_traceparent() RETURNS text LANGUAGE sql STABLE
  RETURN nullif(current_setting('billing.traceparent', true), '');
