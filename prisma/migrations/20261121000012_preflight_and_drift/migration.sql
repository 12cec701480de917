-- What each organisation's ledger is known to offer, so that a document that it would refuse is refused without asking it; and beside our
-- amount of a document the ledger's, so that a difference is seen.
-- AlterTable
ALTER TABLE "credit_notes" ADD COLUMN     "ledger_subtotal" DECIMAL(20,4);

-- AlterTable
ALTER TABLE "invoices" ADD COLUMN     "ledger_subtotal" DECIMAL(20,4);

-- AlterTable
ALTER TABLE "ledger_jobs" ADD COLUMN     "skip_validation" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "ledger_reference_data" (
    "organisation_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "offer" JSONB,
    "fetched_at" TIMESTAMPTZ(6),
    "invalidated_at" TIMESTAMPTZ(6),
    "next_read_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "ledger_reference_data_pkey" PRIMARY KEY ("organisation_id","kind")
);

-- AddForeignKey
ALTER TABLE "ledger_reference_data" ADD CONSTRAINT "ledger_reference_data_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: checks, and the few documents that differ among the many that do not.
ALTER TABLE "ledger_reference_data"
  ADD CONSTRAINT "ledger_reference_data_kind" CHECK (kind IN ('organisation', 'accounts', 'tax_rates', 'currencies')),
  ADD CONSTRAINT "ledger_reference_data_told" CHECK ((offer IS NULL) = (fetched_at IS NULL));
CREATE INDEX "invoices_drift" ON "invoices" ("organisation_id", "seq")
  WHERE ledger_subtotal <> subtotal AND status IN ('draft', 'awaiting_approval', 'approved', 'paid');
CREATE INDEX "credit_notes_drift" ON "credit_notes" ("organisation_id", "seq")
  WHERE ledger_subtotal <> subtotal AND status IN ('draft', 'awaiting_approval', 'approved', 'paid');
