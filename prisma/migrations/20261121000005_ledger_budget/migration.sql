-- CreateTable
CREATE TABLE "ledger_budgets" (
    "organisation_id" UUID NOT NULL,
    "calls" TIMESTAMPTZ(6)[],
    "minute_limit" INTEGER NOT NULL DEFAULT 60,
    "day_remaining" INTEGER,
    "day_seen_at" TIMESTAMPTZ(6),
    "flights" UUID[],
    "flights_until" TIMESTAMPTZ(6)[],

    CONSTRAINT "ledger_budgets_pkey" PRIMARY KEY ("organisation_id")
);

-- AddForeignKey
ALTER TABLE "ledger_budgets" ADD CONSTRAINT "ledger_budgets_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks, and the functions that take a call of the budget and give it back.

ALTER TABLE "ledger_budgets"
  ADD CONSTRAINT "ledger_budgets_limit" CHECK (minute_limit >= 1),
  ADD CONSTRAINT "ledger_budgets_flights" CHECK (coalesce(cardinality(flights), 0) = coalesce(cardinality(flights_until), 0));
-- A row is written twice for each call of the ledger.
ALTER TABLE "ledger_budgets" SET (fillfactor = 50);

-- Takes one call of an organisation's budget, or says for how many milliseconds there is none and why. The limits are Xero's: 60 calls
-- in a minute, 5 at once, and what is left of the day. The window is half a second longer than the ledger's, because two calls may
-- take unequal times to reach it. Of the minute and of the five, work that nobody waits for leaves some to callers who do wait.
-- Past half of the minute's calls they go out evenly: what gathers meanwhile goes in one call, and nobody meets an empty minute.
-- A ledger that says that it takes more than 60 is believed; beyond 1,000 a minute nothing is counted.
CREATE FUNCTION take_ledger_call(the_organisation uuid, the_call uuid, is_background boolean, lease interval)
RETURNS TABLE (granted boolean, scope text, wait_ms bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  counted CONSTANT interval := interval '60.5 seconds';
  seen_for CONSTANT interval := interval '1 hour';
  reserved_calls CONSTANT integer := 2;
  reserved_day CONSTANT integer := 50;
  at_once CONSTANT integer := 5;
  budget ledger_budgets%ROWTYPE;
  instant timestamptz;
  used integer;
  allowed integer;
  running integer;
  gap interval;
BEGIN
  -- Not worth a wait for the disk: after a crash the ledger's own refusals are obeyed.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until) VALUES (the_organisation, '{}', '{}', '{}') ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT budget FROM ledger_budgets b WHERE b.organisation_id = the_organisation FOR UPDATE;
  instant := clock_timestamp();
  granted := false;
  IF budget.day_remaining <= (CASE WHEN is_background THEN reserved_day ELSE 0 END) AND budget.day_seen_at > instant - seen_for THEN
    scope := 'day';
    wait_ms := ceil(1000 * extract(epoch FROM budget.day_seen_at + seen_for - instant));
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT coalesce(array_agg(f.id ORDER BY f.place), '{}'), coalesce(array_agg(f.until ORDER BY f.place), '{}')
    INTO budget.flights, budget.flights_until
    FROM unnest(budget.flights, budget.flights_until) WITH ORDINALITY AS f (id, until, place) WHERE f.until > instant;
  running := cardinality(budget.flights);
  IF running >= (CASE WHEN is_background THEN at_once - 1 ELSE at_once END) THEN
    scope := 'concurrent';
    wait_ms := 50;
    RETURN NEXT;
    RETURN;
  END IF;
  IF budget.minute_limit <= 1000 THEN
    SELECT coalesce(array_agg(c.at ORDER BY c.at), '{}') INTO budget.calls FROM unnest(budget.calls) AS c (at)
      WHERE c.at > instant - counted AND c.at <= instant + counted;
    used := cardinality(budget.calls);
    allowed := budget.minute_limit - CASE WHEN is_background THEN least(reserved_calls, budget.minute_limit - 1) ELSE 0 END;
    scope := 'minute';
    IF used >= allowed THEN
      wait_ms := ceil(1000 * extract(epoch FROM budget.calls[used - allowed + 1] + counted - instant));
      RETURN NEXT;
      RETURN;
    END IF;
    gap := counted / budget.minute_limit;
    IF used > budget.minute_limit / 2 AND budget.calls[used] > instant - gap THEN
      wait_ms := ceil(1000 * extract(epoch FROM budget.calls[used] + gap - instant));
      RETURN NEXT;
      RETURN;
    END IF;
    budget.calls := budget.calls || instant;
  ELSE
    budget.calls := '{}';
  END IF;
  UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights || the_call, flights_until = budget.flights_until || (instant + lease)
    WHERE b.organisation_id = the_organisation;
  granted := true;
  scope := NULL;
  wait_ms := 0;
  RETURN NEXT;
END $$;

-- Says that a call is over, and what the ledger's headers said of its limits; null where they said nothing.
CREATE FUNCTION end_ledger_call(the_organisation uuid, the_call uuid, minute_remaining integer, the_day_remaining integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE ledger_budgets b SET
    flights = coalesce((SELECT array_agg(f.id ORDER BY f.place) FROM unnest(b.flights) WITH ORDINALITY AS f (id, place) WHERE f.id <> the_call), '{}'),
    flights_until = coalesce((SELECT array_agg(f.until ORDER BY f.place) FROM unnest(b.flights, b.flights_until) WITH ORDINALITY AS f (id, until, place)
      WHERE f.id <> the_call), '{}'),
    -- This call and what is left after it were allowed.
    minute_limit = greatest(b.minute_limit, minute_remaining + 1),
    day_remaining = coalesce(the_day_remaining, b.day_remaining),
    day_seen_at = CASE WHEN the_day_remaining IS NULL THEN b.day_seen_at ELSE clock_timestamp() END
  WHERE b.organisation_id = the_organisation;
END $$;
