-- An admission planned its join again for each small batch, because PostgreSQL expects ten elements
-- of an unknown array and fewer of a known one. Planning takes longer than the admission itself.
ALTER FUNCTION admit_api_keys(bytea[], integer) SET plan_cache_mode = force_generic_plan;
