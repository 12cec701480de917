-- The figures of an organisation, which workers reckon now and then. Any of them may be deleted.
CREATE TABLE overviews (
  organisation_id UUID NOT NULL,
  figures JSONB,
  as_of TIMESTAMPTZ(6),
  took_ms INTEGER NOT NULL DEFAULT 0,
  read_at TIMESTAMPTZ(6),
  claimed_until TIMESTAMPTZ(6),
  CONSTRAINT overviews_pkey PRIMARY KEY (organisation_id),
  CONSTRAINT overviews_reckoned CHECK ((figures IS NULL) = (as_of IS NULL))
);

ALTER TABLE overviews ALTER COLUMN organisation_id SET (n_distinct = 1);

ALTER TABLE overviews
  ADD CONSTRAINT overviews_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

-- How many usage events were accepted in each hour, and until when they are counted.
CREATE TABLE usage_hours (
  organisation_id UUID NOT NULL,
  hour TIMESTAMPTZ(6) NOT NULL,
  events BIGINT NOT NULL,
  CONSTRAINT usage_hours_pkey PRIMARY KEY (organisation_id, hour),
  CONSTRAINT usage_hours_events CHECK (events > 0)
);

ALTER TABLE usage_hours ALTER COLUMN organisation_id SET (n_distinct = 1);

ALTER TABLE usage_hours
  ADD CONSTRAINT usage_hours_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

CREATE INDEX usage_hours_hour_idx ON usage_hours (hour);

CREATE TABLE usage_hours_counted (
  id INTEGER NOT NULL DEFAULT 1,
  until TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT usage_hours_counted_pkey PRIMARY KEY (id),
  CONSTRAINT usage_hours_counted_one CHECK (id = 1)
);

INSERT INTO usage_hours_counted (until) VALUES (now());

-- By the database's clock, also in a sandbox. The events of before get the instant of this
-- migration, and no row is rewritten. Reports of usage wait while the index is built: it is read
-- through once, and a block of it has an entry of some bytes.
ALTER TABLE usage_events ADD COLUMN recorded_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP;

CREATE INDEX usage_events_recorded_at_idx ON usage_events USING brin (recorded_at)
  WITH (pages_per_range = 32, autosummarize = on);

-- What waits for a person is little, and is listed of all organisations too.
CREATE INDEX ledger_connections_disconnected ON ledger_connections (organisation_id)
  WHERE disconnected_at IS NOT NULL;

CREATE INDEX ledger_connections_unauthorised ON ledger_connections (organisation_id)
  WHERE paused_reason IN ('expired', 'disconnected', 'insufficient_scope');

CREATE INDEX webhook_endpoints_disabled ON webhook_endpoints (organisation_id, seq)
  WHERE status = 'disabled';

CREATE INDEX webhook_deliveries_exhausted ON webhook_deliveries (organisation_id, seq)
  WHERE state = 'exhausted';

CREATE INDEX ledger_jobs_credit_refused ON ledger_jobs (organisation_id, seq)
  WHERE kind = 'allocate_credit' AND state = 'refused';

-- A person searches by the beginning of a text, in any case.
CREATE INDEX invoices_search_number ON invoices (organisation_id, lower(number) text_pattern_ops);

CREATE INDEX credit_notes_search_number ON credit_notes (organisation_id,
  lower(number) text_pattern_ops);

CREATE INDEX customers_search_code ON customers (organisation_id, lower(code) text_pattern_ops);

CREATE INDEX customers_search_email ON customers (organisation_id, lower(email) text_pattern_ops);

CREATE INDEX subscriptions_search_label ON subscriptions (organisation_id,
  lower(label) text_pattern_ops)
  WHERE label <> '';

CREATE INDEX audit_log_request_id_idx ON audit_log (request_id);
