-- What each organisation's ledger is known to offer, so that a document that it would refuse is refused without asking it; and beside our
-- amount of a document the ledger's, so that a difference is seen.
-- AlterTable
ALTER TABLE "credit_notes" ADD COLUMN     "ledger_subtotal" DECIMAL(20,4);

-- AlterTable
ALTER TABLE "invoices" ADD COLUMN     "ledger_subtotal" DECIMAL(20,4);

-- AlterTable
ALTER TABLE "operations" ADD COLUMN     "judged_there" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "ledger_offers" (
    "organisation_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "offer" JSONB,
    "told_at" TIMESTAMPTZ(6),
    "doubted_at" TIMESTAMPTZ(6),
    "next_read_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "ledger_offers_pkey" PRIMARY KEY ("organisation_id","kind")
);

-- AddForeignKey
ALTER TABLE "ledger_offers" ADD CONSTRAINT "ledger_offers_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: checks, and the few documents that differ among the many that do not.
ALTER TABLE "ledger_offers"
  ADD CONSTRAINT "ledger_offers_kind" CHECK (kind IN ('organisation', 'accounts', 'tax_rates', 'currencies')),
  ADD CONSTRAINT "ledger_offers_told" CHECK ((offer IS NULL) = (told_at IS NULL));
CREATE INDEX "invoices_drift" ON "invoices" ("organisation_id", "seq")
  WHERE ledger_subtotal <> subtotal AND status IN ('draft', 'awaiting_approval', 'approved', 'paid');
CREATE INDEX "credit_notes_drift" ON "credit_notes" ("organisation_id", "seq")
  WHERE ledger_subtotal <> subtotal AND status IN ('draft', 'awaiting_approval', 'approved', 'paid');
