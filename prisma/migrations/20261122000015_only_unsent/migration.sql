-- What an end removes only because it was never sent: left alone where somebody has approved or sent it in the ledger. decisions §6.
-- AlterTable
ALTER TABLE "removals" ADD COLUMN     "only_unsent" BOOLEAN NOT NULL DEFAULT false;
