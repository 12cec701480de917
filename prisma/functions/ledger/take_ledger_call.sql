-- Takes one call of an organisation's budget, or returns for how many milliseconds there is none
-- and why. The limits are those of the kind of ledger: calls a minute, a day and at once. If the
-- calls of a day are null, only the ledger's answers say what is left of its day.
-- Background work leaves a part of each to callers who wait. Past half of the minute's calls the
-- rest is spaced evenly, as fast as used calls become free again. Work that arrives meanwhile goes
-- in one call, and no caller meets an empty minute. Above 1,000 a minute nothing is counted.
CREATE OR REPLACE FUNCTION take_ledger_call(the_organisation uuid, the_call uuid,
  is_background boolean, lease interval, a_minute integer, a_day integer, at_once integer)
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
