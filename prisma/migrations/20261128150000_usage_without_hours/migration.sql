-- Usage is not counted by hour any more. Workers of the previous version, which read what the index
-- is for, count nothing from here on. Both tables and the column stay for them.
UPDATE usage_hours_counted SET until = 'infinity';

DROP INDEX usage_events_recorded_at_idx;
