-- A claim on a delivery moved its due time, so each claim wrote an entry of every index. The end of
-- a claim has its own column, which no index contains. A quarter of each page is for claimed rows.
-- The previous version ignores the column. It could send a claimed delivery a second time only
-- while it delivers to the same endpoint, which one process at a time does.
ALTER TABLE webhook_deliveries
  ADD COLUMN claimed_until TIMESTAMPTZ(6),
  SET (fillfactor = 75);
