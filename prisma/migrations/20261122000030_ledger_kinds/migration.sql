-- The kind of ledger: with each request for consent, and its limits with each call of the budget.

ALTER TABLE ledger_consents ADD COLUMN kind TEXT NOT NULL DEFAULT 'xero';
ALTER TABLE ledger_consents ALTER COLUMN kind DROP DEFAULT;

DROP FUNCTION take_ledger_call(uuid, uuid, boolean, interval);
DROP FUNCTION end_ledger_call(uuid, uuid, integer, integer);

-- Takes one call of an organisation's budget, or returns for how many milliseconds there is none
-- and why. The limits are those of the kind of ledger: calls a minute, a day and at once. If the
-- calls of a day are null, only the ledger's answers say what is left of its day.
-- Background work leaves a part of each to callers who wait. Past half of the minute's calls the
-- rest is spaced evenly, as fast as used calls become free again. Work that gathers meanwhile goes
-- in one call, and no caller meets an empty minute. Above 1,000 a minute nothing is counted.
CREATE FUNCTION take_ledger_call(the_organisation uuid, the_call uuid, is_background boolean,
  lease interval, a_minute integer, a_day integer, at_once integer)
RETURNS TABLE (granted boolean, scope text, wait_ms bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  most_counted CONSTANT integer := 1000;
  seen_for CONSTANT interval := interval '1 hour';
  reserved_calls CONSTANT integer := 2;
  reserved_day CONSTANT integer := 50;
  stored ledger_budgets%ROWTYPE;
  budget ledger_budgets%ROWTYPE;
  instant timestamptz;
  running integer;
  used integer;
  allowed integer;
  leaving timestamptz[];
  free_at timestamptz;
BEGIN
  -- It need not wait for the disk: after a crash the ledger's own refusals are obeyed.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until, minute_limit)
    VALUES (the_organisation, '{}', '{}', '{}', a_minute) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT stored FROM ledger_budgets b
    WHERE b.organisation_id = the_organisation FOR UPDATE;
  instant := clock_timestamp();
  budget := ledger_budget_at(stored, instant);
  -- A ledger that reports nothing of its day is counted from the first call of each 24 hours.
  IF a_day IS NOT NULL
    AND coalesce(budget.day_observed_at <= instant - interval '24 hours', true) THEN
    budget.day_remaining := a_day;
    budget.day_observed_at := instant;
  END IF;
  running := cardinality(budget.flights);
  used := cardinality(budget.calls) + running + budget.others_calls;
  allowed := budget.minute_limit - CASE WHEN is_background THEN least(reserved_calls,
    budget.minute_limit - 1) ELSE 0 END;
  IF budget.day_remaining <= (CASE WHEN is_background THEN reserved_day ELSE 0 END) THEN
    scope := 'day';
    free_at := budget.day_observed_at
      + CASE WHEN a_day IS NULL THEN seen_for ELSE interval '24 hours' END;
  END IF;
  IF running >= (CASE WHEN is_background THEN at_once - 1 ELSE at_once END)
    AND coalesce(free_at <= instant, true) THEN
    scope := 'concurrent';
    free_at := instant + interval '50 milliseconds';
  END IF;
  IF budget.minute_limit <= most_counted AND used > budget.minute_limit / 2
    AND coalesce(free_at <= instant, true) THEN
    SELECT array_agg(l.at ORDER BY l.at) INTO leaving FROM (
      SELECT c.at + ledger_minute() AS at FROM unnest(budget.calls) AS c (at)
      UNION ALL SELECT instant + ledger_minute() FROM generate_series(1, running)
      UNION ALL SELECT budget.others_until FROM generate_series(1, budget.others_calls)) l;
    scope := 'minute';
    IF used >= allowed THEN
      free_at := leaving[used - allowed + 1];
    ELSE
      SELECT budget.granted_at + max((l.at - instant) / (allowed - used + l.place - 1)) INTO free_at
        FROM unnest(leaving) WITH ORDINALITY AS l (at, place);
    END IF;
  END IF;
  IF free_at > instant THEN
    granted := false;
    wait_ms := ceil(1000 * extract(epoch FROM free_at - instant));
    -- Otherwise a time that was read with the previous clock would be moved again each time.
    IF stored.written_at > instant THEN
      UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights,
        flights_until = budget.flights_until,
          granted_at = budget.granted_at, written_at = instant, others_until = budget.others_until,
            day_observed_at = budget.day_observed_at
        WHERE b.organisation_id = the_organisation;
    END IF;
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE ledger_budgets b SET calls = CASE WHEN budget.minute_limit <= most_counted
    THEN budget.calls ELSE '{}' END,
      flights = array_append(budget.flights, the_call),
        flights_until = array_append(budget.flights_until, instant + lease),
      granted_at = instant, written_at = instant, others_calls = budget.others_calls,
        others_until = budget.others_until,
      day_remaining = budget.day_remaining - 1, day_observed_at = budget.day_observed_at
    WHERE b.organisation_id = the_organisation;
  granted := true;
  scope := NULL;
  wait_ms := 0;
  RETURN NEXT;
END $$;

-- Records that a call is over, and what the ledger's headers reported as left, or null. The headers
-- win: a higher limit is used, and so is a smaller remainder than ours, because others may use
-- the ledger by the same connection.
CREATE FUNCTION end_ledger_call(the_organisation uuid, the_call uuid, the_minute_remaining integer,
  the_day_remaining integer, least_limit integer, at_once integer)
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
