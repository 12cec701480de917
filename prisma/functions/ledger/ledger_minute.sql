-- How long a call counts after its end. Wherever the ledger's own minute begins, it received the
-- call between its start and its end. So it never counts more calls in a minute than this budget
-- does. A tenth of a second is added because clocks differ.
CREATE OR REPLACE FUNCTION ledger_minute() RETURNS interval IMMUTABLE
  LANGUAGE sql RETURN interval '60.1 seconds';
