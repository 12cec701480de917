-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN     "due_at" TIMESTAMPTZ(6),
ADD COLUMN     "parked_attempts" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "parked_reason" TEXT,
ADD COLUMN     "parked_until" TIMESTAMPTZ(6);

-- CreateTable
CREATE TABLE "terminations" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "subscription_id" UUID NOT NULL,
    "end_when" TEXT NOT NULL,
    "ended" BOOLEAN NOT NULL DEFAULT false,
    "request_id" UUID,
    "request_hash" BYTEA NOT NULL,
    "told" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "terminations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "removals" (
    "organisation_id" UUID NOT NULL,
    "termination_id" UUID NOT NULL,
    "step" INTEGER NOT NULL,
    "invoice_id" UUID NOT NULL,
    "state" TEXT NOT NULL,
    "outcome" TEXT,
    "reason" TEXT,
    "message" TEXT,
    "finished_at" TIMESTAMPTZ(6),
    "reissued" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "removals_pkey" PRIMARY KEY ("termination_id","step")
);

-- CreateTable
CREATE TABLE "restorations" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "subscription_id" UUID NOT NULL,
    "request_id" UUID,
    "request_hash" BYTEA NOT NULL,
    "job_ids" UUID[],
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "restorations_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "terminations_organisation_id_subscription_id_seq_idx" ON "terminations"("organisation_id", "subscription_id", "seq");

-- CreateIndex
CREATE INDEX "terminations_organisation_id_request_id_idx" ON "terminations"("organisation_id", "request_id");

-- CreateIndex
CREATE UNIQUE INDEX "terminations_organisation_id_id_key" ON "terminations"("organisation_id", "id");

-- CreateIndex
CREATE INDEX "removals_invoice_id_idx" ON "removals"("invoice_id");

-- CreateIndex
CREATE INDEX "restorations_organisation_id_subscription_id_seq_idx" ON "restorations"("organisation_id", "subscription_id", "seq");

-- CreateIndex
CREATE INDEX "restorations_organisation_id_request_id_idx" ON "restorations"("organisation_id", "request_id");

-- AddForeignKey
ALTER TABLE "terminations" ADD CONSTRAINT "terminations_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "removals" ADD CONSTRAINT "removals_organisation_id_ending_id_fkey" FOREIGN KEY ("organisation_id", "termination_id") REFERENCES "terminations"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "removals" ADD CONSTRAINT "removals_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "restorations" ADD CONSTRAINT "restorations_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks and the partial indexes.

ALTER TABLE "ledger_jobs"
  DROP CONSTRAINT "ledger_jobs_kind",
  DROP CONSTRAINT "ledger_jobs_object",
  ADD CONSTRAINT "ledger_jobs_kind" CHECK (kind IN ('create_invoice', 'create_contact', 'import_contact', 'amend_invoice', 'create_credit_note', 'allocate_credit', 'end_subscription')),
  ADD CONSTRAINT "ledger_jobs_object" CHECK (CASE
    WHEN kind = 'create_invoice' THEN invoice_id IS NOT NULL
    WHEN kind = 'amend_invoice' THEN invoice_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'create_credit_note' THEN credit_note_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'allocate_credit' THEN num_nulls(credit_note_id, invoice_id, subscription_id) = 0
    WHEN kind = 'end_subscription' THEN subscription_id IS NOT NULL
    ELSE customer_id IS NOT NULL END AND (kind = 'import_contact') = (contact_id IS NOT NULL));
-- One operation at a time changes what a subscription has in the ledger; a second one is refused while it runs.
DROP INDEX "ledger_jobs_one_for_a_subscription";
CREATE UNIQUE INDEX "ledger_jobs_one_for_a_subscription" ON "ledger_jobs" (subscription_id)
  WHERE kind IN ('amend_invoice', 'end_subscription') AND state IN ('ready', 'sending', 'uncertain');

-- An invoice that was removed before the ledger had it is deleted without ever having been there.
ALTER TABLE "invoices"
  DROP CONSTRAINT "invoices_synced",
  ADD CONSTRAINT "invoices_synced" CHECK (status IN ('scheduled', 'not_in_external', 'deleted') OR ledger_invoice_id IS NOT NULL);

ALTER TABLE "subscriptions"
  -- Something is due for one that is not over, some day, and nothing for one that was ended. A complete one may have an amount to bill
  -- that Setup Mode kept back.
  ADD CONSTRAINT "subscriptions_due" CHECK (CASE status WHEN 'ended' THEN due_at IS NULL WHEN 'complete' THEN true ELSE due_at IS NOT NULL END) NOT VALID,
  ADD CONSTRAINT "subscriptions_parked" CHECK ((parked_until IS NULL) = (parked_reason IS NULL) AND parked_attempts >= 0);
-- Those from before look at themselves once.
UPDATE "subscriptions" SET due_at = 'epoch' WHERE status IN ('pending', 'active');
ALTER TABLE "subscriptions" VALIDATE CONSTRAINT "subscriptions_due";
-- What the billing run asks for each minute.
CREATE INDEX "subscriptions_due_at" ON "subscriptions" (organisation_id, due_at, id) WHERE due_at IS NOT NULL;

ALTER TABLE "terminations"
  ADD CONSTRAINT "terminations_when" CHECK (end_when IN ('now', 'period_end')),
  ADD CONSTRAINT "endings_hash_is_sha256" CHECK (octet_length(request_hash) = 32);
ALTER TABLE "removals"
  ADD CONSTRAINT "removals_step" CHECK (step >= 0),
  ADD CONSTRAINT "removals_state" CHECK (state IN ('waiting', 'removed', 'refused', 'left')),
  ADD CONSTRAINT "removals_outcome" CHECK ((state = 'removed') = (outcome IS NOT NULL) AND outcome IN ('deleted', 'voided', 'already_removed', 'not_found', 'never_sent')),
  ADD CONSTRAINT "removals_raised_again" CHECK (state = 'removed' OR NOT reissued),
  ADD CONSTRAINT "removals_refused" CHECK ((state = 'refused') = (message IS NOT NULL) AND (state = 'waiting') = (finished_at IS NULL));
ALTER TABLE "restorations" ADD CONSTRAINT "restorations_hash_is_sha256" CHECK (octet_length(request_hash) = 32);

-- What a removed invoice had billed of deferred amounts.
CREATE INDEX "deferred_lines_billed" ON "deferred_lines" (invoice_id) WHERE invoice_id IS NOT NULL;
