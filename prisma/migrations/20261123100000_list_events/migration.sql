-- Events are listed by their kind and by the instant that they show (EVENT-6). In a sandbox that is
-- its test clock's. Only the relay waits while an index is built.
ALTER TABLE events ADD COLUMN clock_at TIMESTAMPTZ(6);

CREATE INDEX events_organisation_id_type_seq_idx ON events (organisation_id, type, seq);

CREATE INDEX events_organisation_id_created_at_idx ON events (organisation_id, created_at);
