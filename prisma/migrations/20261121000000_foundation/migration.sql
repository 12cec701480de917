-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "organisations" (
    "id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "timezone" TEXT NOT NULL,
    "default_currency" TEXT NOT NULL,
    "livemode" BOOLEAN NOT NULL,
    "setup_mode" BOOLEAN NOT NULL DEFAULT false,
    "can_create_ledger_contacts" BOOLEAN NOT NULL DEFAULT false,
    "usage_allowed" BOOLEAN NOT NULL DEFAULT false,
    "test_clock" TIMESTAMPTZ(6),
    "invoice_create_days" INTEGER NOT NULL DEFAULT 0,
    "first_invoice_status" TEXT NOT NULL DEFAULT 'draft',
    "due_days" INTEGER NOT NULL DEFAULT 14,
    "number_prefix" TEXT NOT NULL DEFAULT 'INV-',
    "revenue_account" TEXT,
    "tax_type" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "organisations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "key_hash" BYTEA NOT NULL,
    "hint" TEXT NOT NULL,
    "scopes" TEXT[],
    "expires_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_windows" (
    "api_key_id" UUID NOT NULL,
    "hits" TIMESTAMPTZ(6)[],

    CONSTRAINT "rate_windows_pkey" PRIMARY KEY ("api_key_id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "api_key_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "organisation_id" UUID NOT NULL,
    "operation" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "state" TEXT NOT NULL,
    "owner" UUID NOT NULL,
    "lease_until" TIMESTAMPTZ(6) NOT NULL,
    "response" BYTEA,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("api_key_id","key")
);

-- CreateTable
CREATE TABLE "ledger_connections" (
    "organisation_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "base_url" TEXT NOT NULL,
    "identity_url" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "encrypted_secret" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "paused_until" TIMESTAMPTZ(6),
    "paused_reason" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_connections_pkey" PRIMARY KEY ("organisation_id")
);

-- CreateTable
CREATE TABLE "document_counters" (
    "organisation_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "next" BIGINT NOT NULL DEFAULT 1,

    CONSTRAINT "document_counters_pkey" PRIMARY KEY ("organisation_id","kind")
);

-- CreateTable
CREATE TABLE "customers" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "company_name" TEXT,
    "first_name" TEXT,
    "last_name" TEXT,
    "email" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "ledger_contact_id" TEXT,
    "request_hash" BYTEA,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "customers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "plans" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "interval_unit" TEXT NOT NULL DEFAULT 'month',
    "interval_count" INTEGER NOT NULL DEFAULT 1,
    "currency" TEXT NOT NULL,
    "price" DECIMAL(20,4) NOT NULL,
    "minimum_units" INTEGER NOT NULL DEFAULT 0,
    "free_units" INTEGER NOT NULL DEFAULT 0,
    "unit_singular" TEXT NOT NULL DEFAULT 'unit',
    "unit_plural" TEXT NOT NULL DEFAULT 'units',
    "allows_price_override" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL,
    "revenue_account" TEXT,
    "tax_type" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plans_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "plan_tiers" (
    "organisation_id" UUID NOT NULL,
    "plan_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "up_to" INTEGER,
    "unit_price" DECIMAL(20,4),
    "flat_price" DECIMAL(20,4),

    CONSTRAINT "plan_tiers_pkey" PRIMARY KEY ("plan_id","position")
);

-- CreateTable
CREATE TABLE "charges" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "currency" TEXT NOT NULL,
    "price" DECIMAL(20,4) NOT NULL,
    "allows_price_override" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL,
    "revenue_account" TEXT,
    "tax_type" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "charges_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subscriptions" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "customer_id" UUID NOT NULL,
    "plan_id" UUID NOT NULL,
    "status" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "interval_unit" TEXT NOT NULL,
    "interval_count" INTEGER NOT NULL,
    "timezone" TEXT NOT NULL,
    "start_date" DATE NOT NULL,
    "billing_day" INTEGER NOT NULL,
    "current_period" INTEGER NOT NULL DEFAULT 0,
    "renewal_date" DATE NOT NULL,
    "end_date" DATE,
    "units" INTEGER NOT NULL,
    "minimum_units" INTEGER NOT NULL,
    "discount_percent" DECIMAL(7,4) NOT NULL,
    "price_override" DECIMAL(20,4),
    "cancel_at_period_end" BOOLEAN NOT NULL DEFAULT false,
    "end_after_cycles" INTEGER,
    "label" TEXT NOT NULL DEFAULT '',
    "invoice_reference" TEXT NOT NULL DEFAULT '',
    "request_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "periods" (
    "organisation_id" UUID NOT NULL,
    "subscription_id" UUID NOT NULL,
    "index" INTEGER NOT NULL,
    "previous_index" INTEGER,
    "start_date" DATE NOT NULL,
    "end_date" DATE NOT NULL,
    "billed_units" INTEGER,
    "setup_mode" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "periods_pkey" PRIMARY KEY ("subscription_id","index")
);

-- CreateTable
CREATE TABLE "invoices" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "customer_id" UUID NOT NULL,
    "subscription_id" UUID NOT NULL,
    "number" TEXT NOT NULL,
    "reference" TEXT NOT NULL DEFAULT '',
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "subtotal" DECIMAL(20,4) NOT NULL,
    "total" DECIMAL(20,4) NOT NULL,
    "amount_due" DECIMAL(20,4) NOT NULL,
    "issue_date" DATE NOT NULL,
    "due_date" DATE,
    "period_index" INTEGER NOT NULL,
    "period_start" DATE,
    "period_end" DATE,
    "sent" BOOLEAN NOT NULL DEFAULT false,
    "ledger_invoice_id" TEXT,
    "sync_error" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "invoices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "invoice_lines" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "invoice_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "units" INTEGER,
    "quantity" DECIMAL(20,4),
    "unit_price" DECIMAL(20,4),
    "amount" DECIMAL(20,4) NOT NULL,
    "period_start" DATE,
    "period_end" DATE,
    "from_units" INTEGER,
    "to_units" INTEGER,
    "days_remaining" INTEGER,
    "days_in_period" INTEGER,
    "charge_id" UUID,
    "revenue_account" TEXT,
    "tax_type" TEXT,

    CONSTRAINT "invoice_lines_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "credit_notes" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "customer_id" UUID NOT NULL,
    "subscription_id" UUID NOT NULL,
    "number" TEXT NOT NULL,
    "reference" TEXT NOT NULL DEFAULT '',
    "status" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "credit_note_date" TIMESTAMPTZ(6) NOT NULL,
    "subtotal" DECIMAL(20,4) NOT NULL,
    "total" DECIMAL(20,4) NOT NULL,
    "remaining_credit" DECIMAL(20,4) NOT NULL,
    "sent" BOOLEAN NOT NULL DEFAULT false,
    "ledger_credit_note_id" TEXT,
    "sync_error" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "credit_notes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "credit_note_lines" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "credit_note_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "amount" DECIMAL(20,4) NOT NULL,
    "effective_date" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "credit_note_lines_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "allocations" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "credit_note_id" UUID NOT NULL,
    "invoice_id" UUID NOT NULL,
    "amount" DECIMAL(20,4) NOT NULL,
    "date" TIMESTAMPTZ(6) NOT NULL,
    "status" TEXT NOT NULL,
    "sync_status" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "allocations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ledger_jobs" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "kind" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "subscription_id" UUID,
    "invoice_id" UUID,
    "customer_id" UUID,
    "contact_id" TEXT,
    "awaited_until" TIMESTAMPTZ(6),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "not_before" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "first_sent_at" TIMESTAMPTZ(6),
    "lease_until" TIMESTAMPTZ(6),
    "reason" TEXT,
    "message" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(6),

    CONSTRAINT "ledger_jobs_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_key_hash_key" ON "api_keys"("key_hash");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_organisation_id_id_key" ON "api_keys"("organisation_id", "id");

-- CreateIndex
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "customers_organisation_id_id_key" ON "customers"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "customers_organisation_id_code_key" ON "customers"("organisation_id", "code");

-- CreateIndex
CREATE UNIQUE INDEX "customers_organisation_id_ledger_contact_id_key" ON "customers"("organisation_id", "ledger_contact_id");

-- CreateIndex
CREATE UNIQUE INDEX "customers_organisation_id_seq_key" ON "customers"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "plans_organisation_id_id_key" ON "plans"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "plans_organisation_id_code_key" ON "plans"("organisation_id", "code");

-- CreateIndex
CREATE UNIQUE INDEX "plans_organisation_id_seq_key" ON "plans"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "charges_organisation_id_id_key" ON "charges"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "charges_organisation_id_code_key" ON "charges"("organisation_id", "code");

-- CreateIndex
CREATE UNIQUE INDEX "charges_organisation_id_seq_key" ON "charges"("organisation_id", "seq");

-- CreateIndex
CREATE INDEX "subscriptions_organisation_id_customer_id_seq_idx" ON "subscriptions"("organisation_id", "customer_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "subscriptions_organisation_id_id_key" ON "subscriptions"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "subscriptions_organisation_id_seq_key" ON "subscriptions"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "subscriptions_billed_key" ON "subscriptions"("organisation_id", "id", "customer_id", "currency");

-- CreateIndex
CREATE UNIQUE INDEX "periods_subscription_id_index_end_date_key" ON "periods"("subscription_id", "index", "end_date");

-- CreateIndex
CREATE INDEX "invoices_organisation_id_subscription_id_seq_idx" ON "invoices"("organisation_id", "subscription_id", "seq");

-- CreateIndex
CREATE INDEX "invoices_organisation_id_customer_id_seq_idx" ON "invoices"("organisation_id", "customer_id", "seq");

-- CreateIndex
CREATE INDEX "invoices_organisation_id_status_seq_idx" ON "invoices"("organisation_id", "status", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "invoices_organisation_id_id_key" ON "invoices"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "invoices_organisation_id_number_key" ON "invoices"("organisation_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "invoices_organisation_id_ledger_invoice_id_key" ON "invoices"("organisation_id", "ledger_invoice_id");

-- CreateIndex
CREATE UNIQUE INDEX "invoices_organisation_id_seq_key" ON "invoices"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "invoice_lines_invoice_id_position_key" ON "invoice_lines"("invoice_id", "position");

-- CreateIndex
CREATE INDEX "credit_notes_organisation_id_subscription_id_seq_idx" ON "credit_notes"("organisation_id", "subscription_id", "seq");

-- CreateIndex
CREATE INDEX "credit_notes_organisation_id_customer_id_seq_idx" ON "credit_notes"("organisation_id", "customer_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "credit_notes_organisation_id_id_key" ON "credit_notes"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "credit_notes_organisation_id_number_key" ON "credit_notes"("organisation_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "credit_notes_organisation_id_ledger_credit_note_id_key" ON "credit_notes"("organisation_id", "ledger_credit_note_id");

-- CreateIndex
CREATE UNIQUE INDEX "credit_notes_organisation_id_seq_key" ON "credit_notes"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "credit_note_lines_credit_note_id_position_key" ON "credit_note_lines"("credit_note_id", "position");

-- CreateIndex
CREATE INDEX "allocations_credit_note_id_idx" ON "allocations"("credit_note_id");

-- CreateIndex
CREATE INDEX "allocations_invoice_id_idx" ON "allocations"("invoice_id");

-- CreateIndex
CREATE INDEX "ledger_jobs_organisation_id_seq_idx" ON "ledger_jobs"("organisation_id", "seq");

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_connections" ADD CONSTRAINT "ledger_connections_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_counters" ADD CONSTRAINT "document_counters_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "customers" ADD CONSTRAINT "customers_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "plans" ADD CONSTRAINT "plans_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "plan_tiers" ADD CONSTRAINT "plan_tiers_organisation_id_plan_id_fkey" FOREIGN KEY ("organisation_id", "plan_id") REFERENCES "plans"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "charges" ADD CONSTRAINT "charges_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_organisation_id_customer_id_fkey" FOREIGN KEY ("organisation_id", "customer_id") REFERENCES "customers"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_organisation_id_plan_id_fkey" FOREIGN KEY ("organisation_id", "plan_id") REFERENCES "plans"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "periods" ADD CONSTRAINT "periods_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "periods" ADD CONSTRAINT "periods_subscription_id_previous_index_start_date_fkey" FOREIGN KEY ("subscription_id", "previous_index", "start_date") REFERENCES "periods"("subscription_id", "index", "end_date") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "invoices" ADD CONSTRAINT "invoices_subscription_fkey" FOREIGN KEY ("organisation_id", "subscription_id", "customer_id", "currency") REFERENCES "subscriptions"("organisation_id", "id", "customer_id", "currency") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "invoices" ADD CONSTRAINT "invoices_period_fkey" FOREIGN KEY ("subscription_id", "period_index") REFERENCES "periods"("subscription_id", "index") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "invoice_lines" ADD CONSTRAINT "invoice_lines_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invoice_lines" ADD CONSTRAINT "invoice_lines_organisation_id_charge_id_fkey" FOREIGN KEY ("organisation_id", "charge_id") REFERENCES "charges"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "credit_notes" ADD CONSTRAINT "credit_notes_subscription_fkey" FOREIGN KEY ("organisation_id", "subscription_id", "customer_id", "currency") REFERENCES "subscriptions"("organisation_id", "id", "customer_id", "currency") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "credit_note_lines" ADD CONSTRAINT "credit_note_lines_organisation_id_credit_note_id_fkey" FOREIGN KEY ("organisation_id", "credit_note_id") REFERENCES "credit_notes"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "allocations" ADD CONSTRAINT "allocations_organisation_id_credit_note_id_fkey" FOREIGN KEY ("organisation_id", "credit_note_id") REFERENCES "credit_notes"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "allocations" ADD CONSTRAINT "allocations_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_jobs" ADD CONSTRAINT "ledger_jobs_subscription_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_jobs" ADD CONSTRAINT "ledger_jobs_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks, the partial indexes and the sums.
-- Amounts are bounded above as well, since NaN is greater than every number: a line is below 10^15, as the rules of creating
-- have it, and a document, with all its lines and the ledger's tax, below 2 * 10^15.

-- The windows of the rate limit are worth nothing after a crash, and are written at every request.
ALTER TABLE "rate_windows" SET UNLOGGED;
ALTER TABLE "rate_windows" SET (fillfactor = 50);
ALTER TABLE "ledger_jobs" SET (fillfactor = 70);
ALTER TABLE "idempotency_keys" SET (fillfactor = 70);

ALTER TABLE "organisations"
  ADD CONSTRAINT "organisations_clock_is_a_sandboxs" CHECK (test_clock IS NULL OR NOT livemode),
  ADD CONSTRAINT "organisations_first_invoice_status" CHECK (first_invoice_status IN ('draft', 'awaiting_approval', 'approved')),
  ADD CONSTRAINT "organisations_invoice_create_days" CHECK (invoice_create_days BETWEEN 0 AND 3650),
  ADD CONSTRAINT "organisations_due_days" CHECK (due_days BETWEEN 0 AND 365),
  ADD CONSTRAINT "organisations_currency" CHECK (default_currency ~ '^[A-Z]{3}$');

ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_hash_is_sha256" CHECK (octet_length(key_hash) = 32);

ALTER TABLE "idempotency_keys"
  ADD CONSTRAINT "idempotency_keys_state" CHECK (state IN ('running', 'done')),
  ADD CONSTRAINT "idempotency_keys_done_has_response" CHECK ((state = 'done') = (response IS NOT NULL)),
  ADD CONSTRAINT "idempotency_keys_api_key_fkey" FOREIGN KEY (organisation_id, api_key_id) REFERENCES "api_keys" (organisation_id, id) ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "document_counters"
  ADD CONSTRAINT "document_counters_kind" CHECK (kind IN ('invoice', 'credit_note', 'customer')),
  ADD CONSTRAINT "document_counters_next" CHECK (next >= 1);

ALTER TABLE "customers" ADD CONSTRAINT "customers_status" CHECK (status IN ('active', 'inactive'));
CREATE INDEX "customers_organisation_id_email_idx" ON "customers" (organisation_id, lower(email), seq);

ALTER TABLE "plans"
  ADD CONSTRAINT "plans_type" CHECK (type IN ('flat_fee', 'per_unit', 'tiered', 'volume', 'stairstep')),
  ADD CONSTRAINT "plans_status" CHECK (status IN ('draft', 'active', 'inactive', 'legacy')),
  ADD CONSTRAINT "plans_currency" CHECK (currency ~ '^[A-Z]{3}$'),
  ADD CONSTRAINT "plans_interval" CHECK (interval_unit = 'month' AND interval_count BETWEEN 1 AND 1200),
  ADD CONSTRAINT "plans_price" CHECK (price BETWEEN 0 AND 999999999.9999),
  ADD CONSTRAINT "plans_with_tiers_have_no_price" CHECK (type IN ('flat_fee', 'per_unit') OR (price = 0 AND NOT allows_price_override)),
  ADD CONSTRAINT "plans_units" CHECK (minimum_units >= 0 AND free_units >= 0 AND (type <> 'flat_fee' OR (minimum_units = 0 AND free_units = 0)));

ALTER TABLE "plan_tiers"
  ADD CONSTRAINT "plan_tiers_bounds" CHECK (position >= 0 AND (up_to IS NULL OR up_to >= 1)),
  ADD CONSTRAINT "plan_tiers_prices" CHECK (coalesce(unit_price, 0) BETWEEN 0 AND 999999999999999.9999 AND coalesce(flat_price, 0) BETWEEN 0 AND 999999999999999.9999 AND num_nonnulls(unit_price, flat_price) >= 1);

ALTER TABLE "charges"
  ADD CONSTRAINT "charges_status" CHECK (status IN ('draft', 'active', 'inactive', 'legacy')),
  ADD CONSTRAINT "charges_currency" CHECK (currency ~ '^[A-Z]{3}$'),
  ADD CONSTRAINT "charges_price" CHECK (price BETWEEN 0 AND 999999999.9999);

ALTER TABLE "subscriptions"
  ADD CONSTRAINT "subscriptions_status" CHECK (status IN ('pending', 'active', 'complete', 'ended')),
  ADD CONSTRAINT "subscriptions_units" CHECK (minimum_units >= 0 AND units >= minimum_units),
  ADD CONSTRAINT "subscriptions_discount" CHECK (discount_percent BETWEEN 0 AND 100),
  ADD CONSTRAINT "subscriptions_billing_day" CHECK (billing_day BETWEEN 1 AND 31),
  ADD CONSTRAINT "subscriptions_cycles" CHECK (end_after_cycles BETWEEN 1 AND 1200),
  ADD CONSTRAINT "subscriptions_dates" CHECK (start_date < renewal_date AND current_period >= 0),
  ADD CONSTRAINT "subscriptions_price_override" CHECK (price_override BETWEEN 0 AND 999999999.9999),
  -- An end date is there exactly where something gives the subscription an end.
  ADD CONSTRAINT "subscriptions_end_date" CHECK (
    CASE WHEN status IN ('ended', 'complete') THEN end_date IS NOT NULL
         ELSE (end_date IS NOT NULL) = (cancel_at_period_end OR end_after_cycles IS NOT NULL) END),
  ADD CONSTRAINT "subscriptions_complete" CHECK (status <> 'complete' OR end_date = renewal_date),
  ADD CONSTRAINT "subscriptions_ended" CHECK (status <> 'ended' OR NOT cancel_at_period_end);

ALTER TABLE "periods"
  ADD CONSTRAINT "periods_days" CHECK (start_date < end_date),
  ADD CONSTRAINT "periods_previous" CHECK (index >= 0 AND previous_index IS NOT DISTINCT FROM nullif(index, 0) - 1),
  ADD CONSTRAINT "periods_billed_units" CHECK (billed_units >= 0);

ALTER TABLE "invoices"
  ADD CONSTRAINT "invoices_type" CHECK (type IN ('first', 'renewal', 'change', 'usage')),
  ADD CONSTRAINT "invoices_status" CHECK (status IN ('draft', 'awaiting_approval', 'approved', 'paid', 'voided', 'deleted', 'scheduled', 'not_in_external')),
  ADD CONSTRAINT "invoices_amounts" CHECK (subtotal BETWEEN 0 AND 1999999999999999.9999 AND total BETWEEN 0 AND 1999999999999999.9999 AND amount_due BETWEEN 0 AND 1999999999999999.9999),
  ADD CONSTRAINT "invoices_period" CHECK (num_nonnulls(period_start, period_end) IN (0, 2) AND period_start < period_end AND period_index >= 0),
  ADD CONSTRAINT "invoices_first_period" CHECK (type NOT IN ('first', 'renewal') OR ((type = 'first') = (period_index = 0) AND period_start IS NOT NULL)),
  -- In the ledger and with its id, or not there and with a reason (a scheduled one's reason is its status).
  ADD CONSTRAINT "invoices_synced" CHECK (status IN ('scheduled', 'not_in_external') OR ledger_invoice_id IS NOT NULL),
  ADD CONSTRAINT "invoices_sync_error" CHECK ((status = 'not_in_external') = (sync_error IS NOT NULL));
-- No period is billed twice: one live invoice bills each period of a subscription.
CREATE UNIQUE INDEX "invoices_one_for_a_period" ON "invoices" (organisation_id, subscription_id, period_index)
  WHERE type IN ('first', 'renewal') AND status NOT IN ('voided', 'deleted');

ALTER TABLE "invoice_lines"
  ADD CONSTRAINT "invoice_lines_kind" CHECK (kind IN ('plan', 'proration', 'charge', 'usage')),
  ADD CONSTRAINT "invoice_lines_amount" CHECK (amount BETWEEN 0 AND 999999999999999.9999 AND unit_price BETWEEN 0 AND 999999999999999.9999 AND quantity BETWEEN 0 AND 999999999999999.9999),
  ADD CONSTRAINT "invoice_lines_period" CHECK (num_nonnulls(period_start, period_end) IN (0, 2) AND period_start < period_end),
  ADD CONSTRAINT "invoice_lines_proration" CHECK (num_nonnulls(from_units, to_units, days_remaining, days_in_period) = CASE WHEN kind = 'proration' THEN 4 ELSE 0 END),
  ADD CONSTRAINT "invoice_lines_charge" CHECK ((kind = 'charge') = (charge_id IS NOT NULL));
CREATE UNIQUE INDEX "invoice_lines_one_plan" ON "invoice_lines" (invoice_id) WHERE kind = 'plan';

ALTER TABLE "credit_notes"
  ADD CONSTRAINT "credit_notes_status" CHECK (status IN ('draft', 'awaiting_approval', 'approved', 'paid', 'voided', 'deleted', 'scheduled', 'not_in_external')),
  ADD CONSTRAINT "credit_notes_amounts" CHECK (subtotal > 0 AND subtotal <= 1999999999999999.9999 AND total > 0 AND total <= 1999999999999999.9999 AND remaining_credit BETWEEN 0 AND total),
  ADD CONSTRAINT "credit_notes_synced" CHECK (status IN ('scheduled', 'not_in_external') OR ledger_credit_note_id IS NOT NULL),
  ADD CONSTRAINT "credit_notes_sync_error" CHECK ((status = 'not_in_external') = (sync_error IS NOT NULL));

ALTER TABLE "credit_note_lines" ADD CONSTRAINT "credit_note_lines_amount" CHECK (amount BETWEEN 0 AND 999999999999999.9999);

ALTER TABLE "allocations"
  ADD CONSTRAINT "allocations_amount" CHECK (amount > 0 AND amount <= 1999999999999999.9999),
  ADD CONSTRAINT "allocations_status" CHECK (status IN ('active', 'removed')),
  ADD CONSTRAINT "allocations_sync_status" CHECK (sync_status IN ('synced', 'failed'));

ALTER TABLE "ledger_jobs"
  ADD CONSTRAINT "ledger_jobs_kind" CHECK (kind IN ('create_invoice', 'create_contact', 'import_contact')),
  ADD CONSTRAINT "ledger_jobs_state" CHECK (state IN ('ready', 'sending', 'uncertain', 'done', 'refused', 'abandoned')),
  ADD CONSTRAINT "ledger_jobs_object" CHECK (CASE WHEN kind = 'create_invoice' THEN invoice_id IS NOT NULL ELSE customer_id IS NOT NULL END AND (kind = 'import_contact') = (contact_id IS NOT NULL)),
  ADD CONSTRAINT "ledger_jobs_settled" CHECK ((state IN ('done', 'refused', 'abandoned')) = (finished_at IS NOT NULL)),
  ADD CONSTRAINT "ledger_jobs_sent" CHECK (state NOT IN ('sending', 'uncertain') OR (first_sent_at IS NOT NULL AND lease_until IS NOT NULL)),
  ADD CONSTRAINT "ledger_jobs_refused" CHECK (state <> 'refused' OR (reason IS NOT NULL AND message IS NOT NULL)),
  ADD CONSTRAINT "ledger_jobs_organisation_id_fkey" FOREIGN KEY (organisation_id) REFERENCES "organisations" (id) ON DELETE RESTRICT ON UPDATE CASCADE;
-- What waits, by organisation: the dispatcher and the ledger workflow ask for nothing else.
CREATE INDEX "ledger_jobs_waiting" ON "ledger_jobs" (organisation_id, not_before, seq) WHERE state IN ('ready', 'sending', 'uncertain');
-- A document is asked for once at a time.
CREATE UNIQUE INDEX "ledger_jobs_one_for_an_invoice" ON "ledger_jobs" (invoice_id, kind) WHERE state IN ('ready', 'sending', 'uncertain');
CREATE UNIQUE INDEX "ledger_jobs_one_for_a_customer" ON "ledger_jobs" (customer_id, kind) WHERE state IN ('ready', 'sending', 'uncertain');

-- Sums and what else spans rows. Judged at the end of the transaction, when all rows are there; each refusal carries the name
-- of its trigger as that of a constraint.
CREATE FUNCTION refuse(rule text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', message USING ERRCODE = 'check_violation', CONSTRAINT = rule;
END $$;

-- An invoice's subtotal is the sum of its lines.
CREATE FUNCTION require_invoice_subtotal(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM invoices i
    WHERE i.id = wanted
      AND i.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l WHERE l.organisation_id = i.organisation_id AND l.invoice_id = i.id)
  ) THEN
    PERFORM refuse(rule, format('the subtotal of invoice %s is not the sum of its lines', wanted));
  END IF;
END $$;
CREATE FUNCTION check_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_invoice_subtotal(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
CREATE FUNCTION check_invoice_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_invoice_subtotal(NEW.invoice_id, TG_NAME); END IF;
  -- A line that was moved leaves an invoice behind.
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.invoice_id <> NEW.invoice_id) THEN
    PERFORM require_invoice_subtotal(OLD.invoice_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "invoices_subtotal" AFTER INSERT OR UPDATE OF subtotal ON "invoices"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice();
CREATE CONSTRAINT TRIGGER "invoice_lines_subtotal" AFTER INSERT OR UPDATE OR DELETE ON "invoice_lines"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_line();

-- A credit note's subtotal is the sum of its lines.
CREATE FUNCTION require_credit_note_subtotal(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted
      AND n.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM credit_note_lines l WHERE l.organisation_id = n.organisation_id AND l.credit_note_id = n.id)
  ) THEN
    PERFORM refuse(rule, format('the subtotal of credit note %s is not the sum of its lines', wanted));
  END IF;
END $$;
CREATE FUNCTION check_credit_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_note_subtotal(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
CREATE FUNCTION check_credit_note_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_credit_note_subtotal(NEW.credit_note_id, TG_NAME); END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.credit_note_id <> NEW.credit_note_id) THEN
    PERFORM require_credit_note_subtotal(OLD.credit_note_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "credit_notes_subtotal" AFTER INSERT OR UPDATE OF subtotal ON "credit_notes"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_note();
CREATE CONSTRAINT TRIGGER "credit_note_lines_subtotal" AFTER INSERT OR UPDATE OR DELETE ON "credit_note_lines"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_note_line();

-- No credit is lost or made: what is left of a credit note and what is applied of it are its total. The row is locked, so that
-- of two transactions that apply it at once the later one sees what the earlier one applied.
CREATE FUNCTION require_credit_held(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM credit_notes WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted
      AND n.total <> n.remaining_credit + (SELECT coalesce(sum(a.amount), 0) FROM allocations a WHERE a.credit_note_id = n.id AND a.status = 'active')
  ) THEN
    PERFORM refuse(rule, format('the total of credit note %s is not what is left and what is applied of it', wanted));
  END IF;
END $$;
CREATE FUNCTION check_credit_of_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_held(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
CREATE FUNCTION check_credit_of_allocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_credit_held(NEW.credit_note_id, TG_NAME); END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.credit_note_id <> NEW.credit_note_id) THEN
    PERFORM require_credit_held(OLD.credit_note_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "credit_notes_credit" AFTER INSERT OR UPDATE OF total, remaining_credit ON "credit_notes"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_of_note();
CREATE CONSTRAINT TRIGGER "allocations_credit" AFTER INSERT OR UPDATE OR DELETE ON "allocations"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_of_allocation();

-- The credit applied to an invoice never exceeds its total. The row is locked, since two transactions that each see only their
-- own credit could exceed it together.
CREATE FUNCTION require_credit_within_invoice(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM invoices WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM invoices i
    WHERE i.id = wanted AND i.total < (SELECT sum(a.amount) FROM allocations a WHERE a.invoice_id = i.id AND a.status = 'active')
  ) THEN
    PERFORM refuse(rule, format('more credit is applied to invoice %s than its total', wanted));
  END IF;
END $$;
CREATE FUNCTION check_credit_of_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_within_invoice(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
CREATE FUNCTION check_invoice_of_allocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_within_invoice(NEW.invoice_id, TG_NAME);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "invoices_credit" AFTER UPDATE OF total ON "invoices"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.total < OLD.total) EXECUTE FUNCTION check_credit_of_invoice();
CREATE CONSTRAINT TRIGGER "allocations_within_invoice" AFTER INSERT OR UPDATE ON "allocations"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_of_allocation();

-- Credit is applied to an invoice of the same customer and currency.
CREATE FUNCTION check_allocation_party() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM allocations a
      JOIN credit_notes n ON n.organisation_id = a.organisation_id AND n.id = a.credit_note_id
      JOIN invoices i ON i.organisation_id = a.organisation_id AND i.id = a.invoice_id
    WHERE CASE TG_TABLE_NAME WHEN 'allocations' THEN a.id WHEN 'invoices' THEN a.invoice_id ELSE a.credit_note_id END = NEW.id
      AND (n.customer_id, n.currency) <> (i.customer_id, i.currency)
  ) THEN
    PERFORM refuse(TG_NAME, format('credit of another customer or currency is applied: %s %s', TG_TABLE_NAME, NEW.id));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "allocations_party" AFTER INSERT OR UPDATE OF credit_note_id, invoice_id ON "allocations"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_allocation_party();
CREATE CONSTRAINT TRIGGER "invoices_party" AFTER UPDATE OF customer_id, currency ON "invoices"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_allocation_party();
CREATE CONSTRAINT TRIGGER "credit_notes_party" AFTER UPDATE OF customer_id, currency ON "credit_notes"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_allocation_party();

-- A subscription's first period starts on its start date.
CREATE FUNCTION require_first_period(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM periods p JOIN subscriptions s ON s.organisation_id = p.organisation_id AND s.id = p.subscription_id
    WHERE p.subscription_id = wanted AND p.index = 0 AND p.start_date <> s.start_date
  ) THEN
    PERFORM refuse(rule, format('the first period of subscription %s does not start on its start date', wanted));
  END IF;
END $$;
CREATE FUNCTION check_first_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_first_period(NEW.subscription_id, TG_NAME);
  RETURN NULL;
END $$;
CREATE FUNCTION check_start_date() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_first_period(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "periods_first" AFTER INSERT OR UPDATE OF index, subscription_id, start_date ON "periods"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.index = 0) EXECUTE FUNCTION check_first_period();
CREATE CONSTRAINT TRIGGER "subscriptions_first_period" AFTER UPDATE OF start_date ON "subscriptions"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_start_date();
