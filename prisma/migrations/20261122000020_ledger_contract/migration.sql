-- A call keeps its idempotency key until the ledger has answered it badly, and a number that is taken and never found is refused in the
-- end. Invoices that are partly paid are looked at once a day, because the ledger tells of no e-mail of theirs. reviews/ledger.md D4, D10, D11.
-- AlterTable
ALTER TABLE "ledger_sync_cursors" ADD COLUMN     "part_paid_checked_at" TIMESTAMPTZ(6);

-- AlterTable
ALTER TABLE "ledger_jobs" ADD COLUMN     "key_variant" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "number_taken" INTEGER NOT NULL DEFAULT 0;
