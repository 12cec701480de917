-- Returns a budget at `instant`. A flight whose lease has expired is a call that ended with it, and
-- calls that no longer count are removed. If the clock was set back since the row was written, all
-- stored times move with it, so that nothing is lost and nothing waits for the clock to catch up.
CREATE OR REPLACE FUNCTION ledger_budget_at(budget ledger_budgets, instant timestamptz,
  OUT known ledger_budgets) LANGUAGE plpgsql AS $$
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
      coalesce(array_agg(f.until - back ORDER BY f.place) FILTER (WHERE f.until - back > instant),
        '{}'),
      array_cat(budget.calls, coalesce(array_agg(f.until) FILTER (WHERE f.until - back <= instant),
        '{}'))
    INTO known.flights, known.flights_until, known.calls
    FROM unnest(budget.flights, budget.flights_until) WITH ORDINALITY AS f (id, until, place);
  SELECT coalesce(array_agg(c.at - back ORDER BY c.at), '{}') INTO known.calls
    FROM unnest(known.calls) AS c (at)
    WHERE c.at - back > instant - ledger_minute();
  IF known.others_until <= instant THEN
    known.others_calls := 0;
  END IF;
END $$;
