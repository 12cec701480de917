-- Each sync reads the removals of broken-off ends that show in the ledger. There are few.
CREATE INDEX removals_answer_lost ON removals (organisation_id) WHERE reason = 'answer_lost';
