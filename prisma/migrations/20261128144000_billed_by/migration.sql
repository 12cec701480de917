-- Periods keep what set their billed units. The previous version changes those without it, so that
-- it counts only while the units that it names are the billed ones.

ALTER TABLE periods ADD COLUMN billed_by TEXT;
