-- Changes of units are shown with what explanations name of them. The previous version writes
-- neither column.

ALTER TABLE unit_changes
  ADD COLUMN effective_date DATE,
  ADD COLUMN changed_at TIMESTAMPTZ(6);
