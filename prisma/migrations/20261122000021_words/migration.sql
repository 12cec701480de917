-- The columns that had words of our own take the field's words.
ALTER TABLE "clock_advances" RENAME COLUMN "raised" TO "issued";
ALTER TABLE "clock_advances" RENAME COLUMN "set_aside" TO "parked";
ALTER TABLE "ledger_reference_data" RENAME COLUMN "offer" TO "data";
ALTER TABLE "terminations" RENAME COLUMN "told" TO "reported";
