-- CreateTable
CREATE TABLE "ledger_budgets" (
    "organisation_id" UUID NOT NULL,
    "calls" TIMESTAMPTZ(6)[],
    "flights" UUID[],
    "flights_until" TIMESTAMPTZ(6)[],
    "granted_at" TIMESTAMPTZ(6),
    "written_at" TIMESTAMPTZ(6),
    "minute_limit" INTEGER NOT NULL DEFAULT 60,
    "others_calls" INTEGER NOT NULL DEFAULT 0,
    "others_until" TIMESTAMPTZ(6),
    "day_remaining" INTEGER,
    "day_observed_at" TIMESTAMPTZ(6),

    CONSTRAINT "ledger_budgets_pkey" PRIMARY KEY ("organisation_id")
);

-- AddForeignKey
ALTER TABLE "ledger_budgets" ADD CONSTRAINT "ledger_budgets_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks, and the functions that take a call of the budget and give it back.

ALTER TABLE "ledger_budgets"
  ADD CONSTRAINT "ledger_budgets_limit" CHECK (minute_limit >= 1),
  ADD CONSTRAINT "ledger_budgets_others" CHECK (others_calls >= 0),
  ADD CONSTRAINT "ledger_budgets_flights" CHECK (coalesce(cardinality(flights), 0) = coalesce(cardinality(flights_until), 0));
-- A row is written twice for each call of the ledger.
ALTER TABLE "ledger_budgets" SET (fillfactor = 50);

-- How long a call counts after its end. Wherever the ledger's own minute begins, a call came there between its start and its end, so
-- that it never sees more in a minute than are counted here; a tenth of a second more because clocks differ.
CREATE FUNCTION ledger_minute() RETURNS interval IMMUTABLE LANGUAGE sql RETURN interval '60.1 seconds';

-- A budget as it is at this instant: flights whose lease is over are calls that ended with it, and calls that count no more are gone.
-- Where the clock was set back since the row was written, all that it remembers moves with it: nothing is forgotten, and nothing
-- waits for the clock to come back.
CREATE FUNCTION ledger_budget_at(budget ledger_budgets, instant timestamptz, OUT known ledger_budgets) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  back interval := greatest(budget.written_at - instant, interval '0');
BEGIN
  known := budget;
  known.granted_at := budget.granted_at - back;
  known.others_until := budget.others_until - back;
  known.day_observed_at := budget.day_observed_at - back;
  known.written_at := instant;
  SELECT coalesce(array_agg(f.id ORDER BY f.place) FILTER (WHERE f.until - back > instant), '{}'),
      coalesce(array_agg(f.until - back ORDER BY f.place) FILTER (WHERE f.until - back > instant), '{}'),
      array_cat(budget.calls, coalesce(array_agg(f.until) FILTER (WHERE f.until - back <= instant), '{}'))
    INTO known.flights, known.flights_until, known.calls
    FROM unnest(budget.flights, budget.flights_until) WITH ORDINALITY AS f (id, until, place);
  SELECT coalesce(array_agg(c.at - back ORDER BY c.at), '{}') INTO known.calls FROM unnest(known.calls) AS c (at)
    WHERE c.at - back > instant - ledger_minute();
  IF known.others_until <= instant THEN
    known.others_calls := 0;
  END IF;
END $$;

-- Takes one call of an organisation's budget, or says for how many milliseconds there is none and why. The limits are Xero's: 60 calls
-- in a minute, 5 at once, and what is left of the day. Of each, work that nobody waits for leaves some to callers who do wait. Past
-- half of the minute's calls the rest goes out at an even pace, the fastest at which it lasts until used ones are free again: what
-- gathers meanwhile goes in one call, and nobody meets an empty minute. Beyond 1,000 a minute nothing is counted.
CREATE FUNCTION take_ledger_call(the_organisation uuid, the_call uuid, is_background boolean, lease interval)
RETURNS TABLE (granted boolean, scope text, wait_ms bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  most_counted CONSTANT integer := 1000;
  seen_for CONSTANT interval := interval '1 hour';
  reserved_calls CONSTANT integer := 2;
  reserved_day CONSTANT integer := 50;
  at_once CONSTANT integer := 5;
  stored ledger_budgets%ROWTYPE;
  budget ledger_budgets%ROWTYPE;
  instant timestamptz;
  running integer;
  used integer;
  allowed integer;
  leaving timestamptz[];
  free_at timestamptz;
BEGIN
  -- Not worth a wait for the disk: after a crash the ledger's own refusals are obeyed.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until) VALUES (the_organisation, '{}', '{}', '{}') ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT stored FROM ledger_budgets b WHERE b.organisation_id = the_organisation FOR UPDATE;
  instant := clock_timestamp();
  budget := ledger_budget_at(stored, instant);
  running := cardinality(budget.flights);
  used := cardinality(budget.calls) + running + budget.others_calls;
  allowed := budget.minute_limit - CASE WHEN is_background THEN least(reserved_calls, budget.minute_limit - 1) ELSE 0 END;
  IF budget.day_remaining <= (CASE WHEN is_background THEN reserved_day ELSE 0 END) THEN
    scope := 'day';
    free_at := budget.day_observed_at + seen_for;
  END IF;
  IF running >= (CASE WHEN is_background THEN at_once - 1 ELSE at_once END) AND coalesce(free_at <= instant, true) THEN
    scope := 'concurrent';
    free_at := instant + interval '50 milliseconds';
  END IF;
  IF budget.minute_limit <= most_counted AND used > budget.minute_limit / 2 AND coalesce(free_at <= instant, true) THEN
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
    -- Else what was read with the clock of before would be moved with it anew each time.
    IF stored.written_at > instant THEN
      UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights, flights_until = budget.flights_until,
          granted_at = budget.granted_at, written_at = instant, others_until = budget.others_until, day_observed_at = budget.day_observed_at
        WHERE b.organisation_id = the_organisation;
    END IF;
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE ledger_budgets b SET calls = CASE WHEN budget.minute_limit <= most_counted THEN budget.calls ELSE '{}' END,
      flights = array_append(budget.flights, the_call), flights_until = array_append(budget.flights_until, instant + lease),
      granted_at = instant, written_at = instant, others_calls = budget.others_calls, others_until = budget.others_until,
      day_remaining = budget.day_remaining - 1, day_observed_at = budget.day_observed_at
    WHERE b.organisation_id = the_organisation;
  granted := true;
  scope := NULL;
  wait_ms := 0;
  RETURN NEXT;
END $$;

-- Says that a call is over, and what the ledger's headers said is left after it; null where they said nothing. They know better: a
-- limit above 60 is believed, and so is less than we think to have, because others may use the ledger by the same connection.
CREATE FUNCTION end_ledger_call(the_organisation uuid, the_call uuid, the_minute_remaining integer, the_day_remaining integer)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  least_limit CONSTANT integer := 60;
  most_counted CONSTANT integer := 1000;
  at_once CONSTANT integer := 5;
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
  -- One whose lease was over is counted already.
  IF place IS NOT NULL THEN
    budget.flights := array_cat(budget.flights[:place - 1], budget.flights[place + 1:]);
    budget.flights_until := array_cat(budget.flights_until[:place - 1], budget.flights_until[place + 1:]);
    budget.calls := array_append(budget.calls, instant);
  END IF;
  IF the_minute_remaining IS NOT NULL THEN
    used := cardinality(budget.calls) + cardinality(budget.flights);
    IF budget.minute_limit > most_counted AND the_minute_remaining < most_counted THEN
      -- It was never so high, or nearly all of it is gone: counted from here on.
      budget.minute_limit := greatest(least_limit, the_minute_remaining + 1);
      used := 1;
    END IF;
    -- This call and what is left after it were allowed; the calls of our minute and what is left are as many as can have been.
    budget.minute_limit := greatest(budget.minute_limit, the_minute_remaining + 1);
    IF budget.minute_limit <= most_counted THEN
      budget.minute_limit := least(budget.minute_limit, greatest(least_limit, used + the_minute_remaining));
      budget.others_calls := greatest(0, budget.minute_limit - used - the_minute_remaining);
      budget.others_until := instant + ledger_minute();
    ELSE
      budget.others_calls := 0;
      budget.calls := '{}';
    END IF;
  END IF;
  -- An answer may be overtaken by those of calls that were made after it; a new day brings far more than they make up.
  IF the_day_remaining > budget.day_remaining + at_once THEN
    budget.day_remaining := the_day_remaining - cardinality(budget.flights);
  ELSE
    budget.day_remaining := least(budget.day_remaining, the_day_remaining);
  END IF;
  UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights, flights_until = budget.flights_until,
      granted_at = budget.granted_at, written_at = instant, minute_limit = budget.minute_limit, others_calls = budget.others_calls,
      others_until = budget.others_until, day_remaining = budget.day_remaining,
      day_observed_at = CASE WHEN the_day_remaining IS NULL THEN budget.day_observed_at ELSE instant END
    WHERE b.organisation_id = the_organisation;
END $$;
