-- A range of a sandbox's events is found by the test clock (EVENT-6). Live events have no entry.
-- Only the relay and deletions of expired events wait while the index is built.
CREATE INDEX events_by_clock ON events (organisation_id, clock_at, seq) WHERE clock_at IS NOT NULL;
