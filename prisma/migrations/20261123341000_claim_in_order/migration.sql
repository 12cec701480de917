-- A claim of ledger jobs read and sorted all waiting jobs of its organisation. These indexes have
-- them in the order in which they are claimed.

-- Open jobs by organisation, for the dispatcher and the claims of the posting workflow. It replaces
-- ledger_jobs_waiting, so that a new job has as many index entries as before.
CREATE INDEX ledger_jobs_open ON ledger_jobs (organisation_id, state, kind, seq)
  WHERE state IN ('ready', 'sending', 'uncertain');

DROP INDEX ledger_jobs_waiting;

-- Jobs with a caller who waits, which come first.
CREATE INDEX ledger_jobs_awaited ON ledger_jobs (organisation_id, kind, seq)
  WHERE state = 'ready' AND awaited_until IS NOT NULL;
