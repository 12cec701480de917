-- AlterTable
ALTER TABLE "allocations" ADD COLUMN     "ledger_allocation_id" TEXT;

-- AlterTable
ALTER TABLE "credit_note_lines" ADD COLUMN     "revenue_account" TEXT,
ADD COLUMN     "tax_type" TEXT;

-- AlterTable
-- One sequence counts both kinds of document, so that which came later is a comparison of two numbers.
ALTER TABLE "credit_notes" ADD COLUMN     "applied_elsewhere" DECIMAL(20,4) NOT NULL DEFAULT 0,
ALTER COLUMN "seq" SET DEFAULT nextval('invoices_seq_seq');
DROP SEQUENCE "credit_notes_seq_seq";

-- AlterTable
ALTER TABLE "invoice_lines" ADD COLUMN     "amending" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "ledger_line_id" TEXT;

-- AlterTable
ALTER TABLE "invoices" ADD COLUMN     "amending_from" JSONB;

-- AlterTable
ALTER TABLE "ledger_jobs" ADD COLUMN     "amount" DECIMAL(20,4),
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
    "job_ids" UUID[],
    "request_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "unit_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "allocations_organisation_id_ledger_allocation_id_key" ON "allocations"("organisation_id", "ledger_allocation_id");

-- CreateIndex
CREATE INDEX "unit_changes_organisation_id_subscription_id_seq_idx" ON "unit_changes"("organisation_id", "subscription_id", "seq");

-- CreateIndex
CREATE INDEX "unit_changes_organisation_id_request_id_idx" ON "unit_changes"("organisation_id", "request_id");

-- AddForeignKey
ALTER TABLE "ledger_jobs" ADD CONSTRAINT "ledger_jobs_organisation_id_credit_note_id_fkey" FOREIGN KEY ("organisation_id", "credit_note_id") REFERENCES "credit_notes"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deferred_lines" ADD CONSTRAINT "deferred_lines_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deferred_lines" ADD CONSTRAINT "deferred_lines_period_fkey" FOREIGN KEY ("subscription_id", "period_index", "period_end") REFERENCES "periods"("subscription_id", "index", "end_date") ON DELETE RESTRICT ON UPDATE NO ACTION;

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
ALTER TABLE "ledger_jobs"
  DROP CONSTRAINT "ledger_jobs_kind",
  DROP CONSTRAINT "ledger_jobs_object",
  ADD CONSTRAINT "ledger_jobs_kind" CHECK (kind IN ('create_invoice', 'create_contact', 'import_contact', 'amend_invoice', 'create_credit_note', 'allocate_credit')),
  ADD CONSTRAINT "ledger_jobs_object" CHECK (CASE
    WHEN kind = 'create_invoice' THEN invoice_id IS NOT NULL
    WHEN kind = 'amend_invoice' THEN invoice_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'create_credit_note' THEN credit_note_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'allocate_credit' THEN num_nulls(credit_note_id, invoice_id, subscription_id) = 0
    ELSE customer_id IS NOT NULL END AND (kind = 'import_contact') = (contact_id IS NOT NULL)),
  ADD CONSTRAINT "ledger_jobs_joins" CHECK (kind = 'amend_invoice' OR NOT joins),
  ADD CONSTRAINT "ledger_jobs_amount" CHECK (CASE WHEN kind = 'allocate_credit' THEN amount IS NOT NULL AND amount > 0 AND amount <= 1999999999999999.9999 ELSE amount IS NULL END);
-- One operation at a time changes what a subscription has in the ledger; a second one is refused while it runs.
CREATE UNIQUE INDEX "ledger_jobs_one_for_a_subscription" ON "ledger_jobs" (subscription_id)
  WHERE kind = 'amend_invoice' AND state IN ('ready', 'sending', 'uncertain');
-- A subscription's credit is applied one step after the other, oldest first.
CREATE UNIQUE INDEX "ledger_jobs_one_allocation" ON "ledger_jobs" (subscription_id)
  WHERE kind = 'allocate_credit' AND state IN ('ready', 'sending', 'uncertain');
CREATE UNIQUE INDEX "ledger_jobs_one_for_a_credit_note" ON "ledger_jobs" (credit_note_id, kind) WHERE state IN ('ready', 'sending', 'uncertain');

-- An invoice that is in the ledger can carry an error too: the ledger refused its last amendment.
ALTER TABLE "invoices"
  DROP CONSTRAINT "invoices_sync_error",
  ADD CONSTRAINT "invoices_sync_error" CHECK (CASE status WHEN 'not_in_external' THEN sync_error IS NOT NULL WHEN 'scheduled' THEN sync_error IS NULL ELSE true END),
  -- All of it is there, or nothing: it is what is gone back to.
  ADD CONSTRAINT "invoices_amending_from" CHECK (amending_from IS NULL OR jsonb_typeof(amending_from) = 'object'
    AND amending_from ?& ARRAY['units', 'description', 'unit_price', 'amount', 'billed_units']);

ALTER TABLE "deferred_lines"
  ADD CONSTRAINT "deferred_lines_amount" CHECK (amount > 0 AND amount <= 999999999999999.9999),
  ADD CONSTRAINT "deferred_lines_days" CHECK (days_remaining = period_end - period_start AND days_remaining BETWEEN 1 AND days_in_period),
  ADD CONSTRAINT "deferred_lines_units" CHECK (from_units >= 0 AND to_units > from_units);
-- What waits to be billed of a subscription.
CREATE INDEX "deferred_lines_waiting" ON "deferred_lines" (subscription_id, seq) WHERE invoice_id IS NULL;

ALTER TABLE "unit_changes"
  ADD CONSTRAINT "unit_changes_units" CHECK (from_units >= 0 AND to_units >= 0 AND from_units <> to_units),
  -- What is deferred is on no document yet; the renewal invoice that was amended is not also the one that was raised or joined.
  ADD CONSTRAINT "unit_changes_deferred" CHECK (NOT deferred OR num_nonnulls(invoice_id, renewal_invoice_id, credit_note_id) = 0),
  ADD CONSTRAINT "unit_changes_invoices" CHECK (invoice_id <> renewal_invoice_id),
  ADD CONSTRAINT "unit_changes_operations" CHECK (job_ids IS NOT NULL AND array_position(job_ids, NULL) IS NULL),
  ADD CONSTRAINT "unit_changes_hash_is_sha256" CHECK (octet_length(request_hash) = 32);

-- The ledger may have used credit where we have no invoice: on one made by hand, or as money given back.
ALTER TABLE "credit_notes" ADD CONSTRAINT "credit_notes_applied_elsewhere" CHECK (applied_elsewhere BETWEEN 0 AND total);
CREATE OR REPLACE FUNCTION require_credit_held(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM credit_notes WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted AND n.total <> n.remaining_credit + n.applied_elsewhere
      + (SELECT coalesce(sum(a.amount), 0) FROM allocations a WHERE a.credit_note_id = n.id AND a.status = 'active')
  ) THEN
    PERFORM refuse(rule, format('the total of credit note %s is not what is left and what is applied of it', wanted));
  END IF;
END $$;
DROP TRIGGER "credit_notes_credit" ON "credit_notes";
CREATE CONSTRAINT TRIGGER "credit_notes_credit" AFTER INSERT OR UPDATE OF total, remaining_credit, applied_elsewhere ON "credit_notes"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_of_note();

-- The credit that is left on approved notes: what is asked whenever an invoice becomes approved.
CREATE INDEX "credit_notes_held" ON "credit_notes" (subscription_id, seq) WHERE status = 'approved' AND remaining_credit > 0;

-- What an operator looks for: documents that failed, and why.
CREATE INDEX "invoices_failed" ON "invoices" (organisation_id, seq) WHERE sync_error IS NOT NULL;
CREATE INDEX "credit_notes_failed" ON "credit_notes" (organisation_id, seq) WHERE sync_error IS NOT NULL;
CREATE INDEX "ledger_jobs_refused_invoices" ON "ledger_jobs" (organisation_id, invoice_id, seq) WHERE state = 'refused' AND invoice_id IS NOT NULL;
CREATE INDEX "ledger_jobs_refused_credit_notes" ON "ledger_jobs" (organisation_id, credit_note_id, seq) WHERE state = 'refused' AND credit_note_id IS NOT NULL;

-- What is told of a subscription is about documents of that subscription. By triggers that look only at the rows that name such a
-- document, since references would need one more unique index on every invoice and credit note. New invoices are left out: each
-- is written in one statement with its operation.
CREATE FUNCTION is_of_subscription(organisation uuid, subscription uuid, invoice_ids uuid[], note_id uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (SELECT 1 FROM invoices i WHERE i.organisation_id = organisation AND i.id = ANY (invoice_ids) AND i.subscription_id <> subscription)
    AND NOT EXISTS (SELECT 1 FROM credit_notes n WHERE n.organisation_id = organisation AND n.id = note_id AND n.subscription_id <> subscription)
$$;
CREATE FUNCTION check_job_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM ledger_jobs o
    WHERE o.id = NEW.id AND NOT is_of_subscription(o.organisation_id, o.subscription_id, ARRAY[o.invoice_id], o.credit_note_id)
  ) THEN
    PERFORM refuse(TG_NAME, format('operation %s is about a document of another subscription', NEW.id));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "ledger_jobs_documents" AFTER INSERT OR UPDATE OF kind, subscription_id, invoice_id, credit_note_id ON "ledger_jobs"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind IN ('amend_invoice', 'create_credit_note', 'allocate_credit'))
  EXECUTE FUNCTION check_job_documents();

CREATE FUNCTION check_deferred_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM deferred_lines d
    WHERE d.id = NEW.id AND NOT is_of_subscription(d.organisation_id, d.subscription_id, ARRAY[d.invoice_id], NULL)
  ) THEN
    PERFORM refuse(TG_NAME, format('deferred line %s is billed on an invoice of another subscription', NEW.id));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "deferred_lines_billed" AFTER INSERT OR UPDATE OF subscription_id, invoice_id ON "deferred_lines"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.invoice_id IS NOT NULL) EXECUTE FUNCTION check_deferred_line();

CREATE FUNCTION check_unit_change_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM unit_changes u
    WHERE u.id = NEW.id
      AND NOT is_of_subscription(u.organisation_id, u.subscription_id, ARRAY[u.invoice_id, u.renewal_invoice_id], u.credit_note_id)
  ) THEN
    PERFORM refuse(TG_NAME, format('change of units %s names a document of another subscription', NEW.id));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "unit_changes_documents" AFTER INSERT OR UPDATE OF subscription_id, invoice_id, renewal_invoice_id, credit_note_id
  ON "unit_changes" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (num_nonnulls(NEW.invoice_id, NEW.renewal_invoice_id, NEW.credit_note_id) > 0) EXECUTE FUNCTION check_unit_change_documents();

-- A document of which such a thing is told stays with its subscription.
CREATE FUNCTION check_document_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM ledger_jobs o
    WHERE o.organisation_id = NEW.organisation_id AND NEW.id IN (o.invoice_id, o.credit_note_id) AND o.kind <> 'create_invoice'
      AND o.subscription_id <> NEW.subscription_id
  ) OR EXISTS (
    SELECT 1 FROM deferred_lines d
    WHERE d.organisation_id = NEW.organisation_id AND d.invoice_id = NEW.id AND d.subscription_id <> NEW.subscription_id
  ) OR EXISTS (
    SELECT 1 FROM unit_changes u
    WHERE u.organisation_id = NEW.organisation_id AND NEW.id IN (u.invoice_id, u.renewal_invoice_id, u.credit_note_id)
      AND u.subscription_id <> NEW.subscription_id
  ) THEN
    PERFORM refuse(TG_NAME, format('%s %s is moved away from what is told of its subscription', TG_TABLE_NAME, NEW.id));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "invoices_subscription" AFTER UPDATE OF subscription_id ON "invoices"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.subscription_id <> OLD.subscription_id) EXECUTE FUNCTION check_document_subscription();
CREATE CONSTRAINT TRIGGER "credit_notes_subscription" AFTER UPDATE OF subscription_id ON "credit_notes"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.subscription_id <> OLD.subscription_id) EXECUTE FUNCTION check_document_subscription();
