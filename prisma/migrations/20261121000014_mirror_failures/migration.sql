-- What is to be looked at in a ledger and could not be: how often the call failed, so that it is asked for alone, and why it waits.
-- AlterTable
ALTER TABLE "ledger_notifications" ADD COLUMN     "failures" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "reason" TEXT;

-- What Prisma's language cannot say: checks.
ALTER TABLE "ledger_notifications" ADD CONSTRAINT "ledger_notifications_failures" CHECK (failures >= 0);
