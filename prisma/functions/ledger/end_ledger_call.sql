-- Records that a call is over, and what the ledger's headers reported as left, or null. The headers
-- win: a higher limit is used, and so is a smaller remainder than ours, because others may use
-- the ledger by the same connection.
CREATE OR REPLACE FUNCTION end_ledger_call(the_organisation uuid, the_call uuid,
  the_minute_remaining integer, the_day_remaining integer, least_limit integer, at_once integer)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  most_counted CONSTANT integer := 1000;
  budget ledger_budgets%ROWTYPE;
  instant timestamptz;
  place integer;
  used integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO budget FROM ledger_budgets b WHERE b.organisation_id = the_organisation FOR UPDATE;
  instant := clock_timestamp();
  budget := ledger_budget_at(budget, instant);
  place := array_position(budget.flights, the_call);
  -- A call whose lease had expired is counted already.
  IF place IS NOT NULL THEN
    budget.flights := array_cat(budget.flights[:place - 1], budget.flights[place + 1:]);
    budget.flights_until := array_cat(budget.flights_until[:place - 1],
      budget.flights_until[place + 1:]);
    budget.calls := array_append(budget.calls, instant);
  END IF;
  IF the_minute_remaining IS NOT NULL THEN
    used := cardinality(budget.calls) + cardinality(budget.flights);
    IF budget.minute_limit > most_counted AND the_minute_remaining < most_counted THEN
      -- The limit was never so high, or nearly all of it is used. Count from here on.
      budget.minute_limit := greatest(least_limit, the_minute_remaining + 1);
      used := 1;
    END IF;
    -- This call and the reported remainder were allowed. So our minute's calls and the remainder
    -- are the most that can have been.
    budget.minute_limit := greatest(budget.minute_limit, the_minute_remaining + 1);
    IF budget.minute_limit <= most_counted THEN
      budget.minute_limit := least(budget.minute_limit, greatest(least_limit,
        used + the_minute_remaining));
      budget.others_calls := greatest(0, budget.minute_limit - used - the_minute_remaining);
      budget.others_until := instant + ledger_minute();
    ELSE
      budget.others_calls := 0;
      budget.calls := '{}';
    END IF;
  END IF;
  -- An answer may be overtaken by those of later calls. A new day restores far more than their
  -- difference.
  IF the_day_remaining > budget.day_remaining + at_once THEN
    budget.day_remaining := the_day_remaining - cardinality(budget.flights);
  ELSE
    budget.day_remaining := least(budget.day_remaining, the_day_remaining);
  END IF;
  UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights,
    flights_until = budget.flights_until,
      granted_at = budget.granted_at, written_at = instant, minute_limit = budget.minute_limit,
        others_calls = budget.others_calls,
      others_until = budget.others_until, day_remaining = budget.day_remaining,
      day_observed_at = CASE WHEN the_day_remaining IS NULL THEN budget.day_observed_at
        ELSE instant END
    WHERE b.organisation_id = the_organisation;
END $$;
