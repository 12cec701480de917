-- AlterTable
ALTER TABLE "allocations" ADD COLUMN     "ledger_allocation_id" TEXT;

-- AlterTable
ALTER TABLE "credit_note_lines" ADD COLUMN     "revenue_account" TEXT,
ADD COLUMN     "tax_type" TEXT;

-- AlterTable
-- One sequence counts both kinds of document, so that which came later is a comparison of two numbers.
ALTER TABLE "credit_notes" ALTER COLUMN "seq" SET DEFAULT nextval('invoices_seq_seq');
DROP SEQUENCE "credit_notes_seq_seq";

-- AlterTable
ALTER TABLE "invoice_lines" ADD COLUMN     "amending" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "ledger_line_id" TEXT;

-- AlterTable
ALTER TABLE "operations" ADD COLUMN     "amount" DECIMAL(20,4),
ADD COLUMN     "credit_note_id" UUID,
ADD COLUMN     "joins" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "periods" ADD COLUMN     "billed_separately" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "proration_closed" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "deferred_lines" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "subscription_id" UUID NOT NULL,
    "period_index" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "amount" DECIMAL(20,4) NOT NULL,
    "period_start" DATE NOT NULL,
    "period_end" DATE NOT NULL,
    "from_units" INTEGER NOT NULL,
    "to_units" INTEGER NOT NULL,
    "days_remaining" INTEGER NOT NULL,
    "days_in_period" INTEGER NOT NULL,
    "invoice_id" UUID,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "deferred_lines_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "unit_changes" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "request_id" UUID,
    "subscription_id" UUID NOT NULL,
    "from_units" INTEGER NOT NULL,
    "to_units" INTEGER NOT NULL,
    "invoice_id" UUID,
    "renewal_invoice_id" UUID,
    "credit_note_id" UUID,
    "deferred" BOOLEAN NOT NULL,
    "operation_ids" UUID[],
    "request_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "unit_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "unit_changes_organisation_id_subscription_id_seq_idx" ON "unit_changes"("organisation_id", "subscription_id", "seq");

-- CreateIndex
CREATE INDEX "unit_changes_organisation_id_request_id_idx" ON "unit_changes"("organisation_id", "request_id");

-- AddForeignKey
ALTER TABLE "operations" ADD CONSTRAINT "operations_organisation_id_credit_note_id_fkey" FOREIGN KEY ("organisation_id", "credit_note_id") REFERENCES "credit_notes"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deferred_lines" ADD CONSTRAINT "deferred_lines_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deferred_lines" ADD CONSTRAINT "deferred_lines_period_fkey" FOREIGN KEY ("subscription_id", "period_index") REFERENCES "periods"("subscription_id", "index") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "deferred_lines" ADD CONSTRAINT "deferred_lines_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "unit_changes" ADD CONSTRAINT "unit_changes_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "unit_changes" ADD CONSTRAINT "unit_changes_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "unit_changes" ADD CONSTRAINT "unit_changes_organisation_id_renewal_invoice_id_fkey" FOREIGN KEY ("organisation_id", "renewal_invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "unit_changes" ADD CONSTRAINT "unit_changes_organisation_id_credit_note_id_fkey" FOREIGN KEY ("organisation_id", "credit_note_id") REFERENCES "credit_notes"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks and the partial indexes.

-- The new kinds of operations, and what each of them is about.
ALTER TABLE "operations"
  DROP CONSTRAINT "operations_kind",
  DROP CONSTRAINT "operations_object",
  ADD CONSTRAINT "operations_kind" CHECK (kind IN ('create_invoice', 'create_contact', 'import_contact', 'amend_invoice', 'create_credit_note', 'allocate_credit')),
  ADD CONSTRAINT "operations_object" CHECK (CASE
    WHEN kind = 'create_invoice' THEN invoice_id IS NOT NULL
    WHEN kind = 'amend_invoice' THEN invoice_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'create_credit_note' THEN credit_note_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'allocate_credit' THEN num_nulls(credit_note_id, invoice_id, subscription_id) = 0
    ELSE customer_id IS NOT NULL END AND (kind = 'import_contact') = (contact_id IS NOT NULL)),
  ADD CONSTRAINT "operations_joins" CHECK (kind = 'amend_invoice' OR NOT joins),
  ADD CONSTRAINT "operations_amount" CHECK (CASE WHEN kind = 'allocate_credit' THEN amount IS NOT NULL AND amount > 0 AND amount <= 1999999999999999.9999 ELSE amount IS NULL END);
-- One operation at a time changes what a subscription has in the ledger; a second one is refused while it runs.
CREATE UNIQUE INDEX "operations_one_for_a_subscription" ON "operations" (subscription_id)
  WHERE kind = 'amend_invoice' AND state IN ('ready', 'sending', 'uncertain');
-- A subscription's credit is applied one step after the other, oldest first.
CREATE UNIQUE INDEX "operations_one_allocation" ON "operations" (subscription_id)
  WHERE kind = 'allocate_credit' AND state IN ('ready', 'sending', 'uncertain');
CREATE UNIQUE INDEX "operations_one_for_a_credit_note" ON "operations" (credit_note_id, kind) WHERE state IN ('ready', 'sending', 'uncertain');

-- An invoice that is in the ledger can carry an error too: the ledger refused its last amendment.
ALTER TABLE "invoices"
  DROP CONSTRAINT "invoices_sync_error",
  ADD CONSTRAINT "invoices_sync_error" CHECK (CASE status WHEN 'not_in_external' THEN sync_error IS NOT NULL WHEN 'scheduled' THEN sync_error IS NULL ELSE true END);

ALTER TABLE "deferred_lines"
  ADD CONSTRAINT "deferred_lines_amount" CHECK (amount > 0 AND amount <= 999999999999999.9999),
  ADD CONSTRAINT "deferred_lines_days" CHECK (period_start < period_end AND days_remaining BETWEEN 1 AND days_in_period),
  ADD CONSTRAINT "deferred_lines_units" CHECK (from_units >= 0 AND to_units > from_units);
-- What waits to be billed of a subscription.
CREATE INDEX "deferred_lines_waiting" ON "deferred_lines" (subscription_id, seq) WHERE invoice_id IS NULL;

ALTER TABLE "unit_changes"
  ADD CONSTRAINT "unit_changes_units" CHECK (from_units >= 0 AND to_units >= 0 AND from_units <> to_units),
  ADD CONSTRAINT "unit_changes_hash_is_sha256" CHECK (octet_length(request_hash) = 32);

-- The credit that is left on approved notes: what is asked whenever an invoice becomes approved.
CREATE INDEX "credit_notes_held" ON "credit_notes" (subscription_id, seq) WHERE status = 'approved' AND remaining_credit > 0;
