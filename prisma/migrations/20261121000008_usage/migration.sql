-- Usage: meters and their prices on plans, events, and the bills that take them.
-- AlterTable
ALTER TABLE "invoice_lines" ALTER COLUMN "quantity" SET DATA TYPE DECIMAL(38,4);

-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN     "ended_at" TIMESTAMPTZ(6),
ADD COLUMN     "usage_bill" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "usage_billed" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "meters" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "unit_label" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "revenue_account" TEXT,
    "tax_type" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "meters_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "plan_meters" (
    "organisation_id" UUID NOT NULL,
    "plan_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "meter_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "price" DECIMAL(20,4) NOT NULL,

    CONSTRAINT "plan_meters_pkey" PRIMARY KEY ("plan_id","position")
);

-- CreateTable
CREATE TABLE "plan_meter_tiers" (
    "organisation_id" UUID NOT NULL,
    "plan_id" UUID NOT NULL,
    "meter_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "up_to" INTEGER,
    "unit_price" DECIMAL(20,4),
    "flat_price" DECIMAL(20,4),

    CONSTRAINT "plan_meter_tiers_pkey" PRIMARY KEY ("plan_id","meter_id","position")
);

-- CreateTable
CREATE TABLE "usage_events" (
    "organisation_id" UUID NOT NULL,
    "event_id" TEXT COLLATE "C" NOT NULL,
    "subscription_id" UUID NOT NULL,
    "meter_id" UUID NOT NULL,
    "period_index" INTEGER NOT NULL,
    "bill" INTEGER NOT NULL,
    "quantity" DECIMAL(24,4) NOT NULL,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "voided_at" TIMESTAMPTZ(6),
    "void_reason" TEXT,

    CONSTRAINT "usage_events_pkey" PRIMARY KEY ("organisation_id","event_id")
) PARTITION BY HASH ("organisation_id", "event_id");

-- CreateTable
CREATE TABLE "usage_bills" (
    "organisation_id" UUID NOT NULL,
    "subscription_id" UUID NOT NULL,
    "bill" INTEGER NOT NULL,
    "period_index" INTEGER NOT NULL,
    "meter_id" UUID NOT NULL,
    "events" BIGINT NOT NULL,
    "quantity" DECIMAL(38,4) NOT NULL,
    "priced" DECIMAL(38,4) NOT NULL,
    "amount" DECIMAL(20,4) NOT NULL,
    "invoice_id" UUID,
    "credit_note_id" UUID,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "usage_bills_pkey" PRIMARY KEY ("subscription_id","period_index","meter_id","bill")
);

-- CreateIndex
CREATE UNIQUE INDEX "meters_organisation_id_id_key" ON "meters"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "meters_organisation_id_code_key" ON "meters"("organisation_id", "code");

-- CreateIndex
CREATE UNIQUE INDEX "meters_organisation_id_seq_key" ON "meters"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "plan_meters_organisation_id_plan_id_meter_id_key" ON "plan_meters"("organisation_id", "plan_id", "meter_id");

-- CreateIndex
CREATE INDEX "usage_bills_organisation_id_invoice_id_idx" ON "usage_bills"("organisation_id", "invoice_id");

-- AddForeignKey
ALTER TABLE "meters" ADD CONSTRAINT "meters_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "plan_meters" ADD CONSTRAINT "plan_meters_organisation_id_plan_id_fkey" FOREIGN KEY ("organisation_id", "plan_id") REFERENCES "plans"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "plan_meters" ADD CONSTRAINT "plan_meters_organisation_id_meter_id_fkey" FOREIGN KEY ("organisation_id", "meter_id") REFERENCES "meters"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "plan_meter_tiers" ADD CONSTRAINT "plan_meter_tiers_organisation_id_plan_id_meter_id_fkey" FOREIGN KEY ("organisation_id", "plan_id", "meter_id") REFERENCES "plan_meters"("organisation_id", "plan_id", "meter_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage_bills" ADD CONSTRAINT "usage_bills_organisation_id_subscription_id_fkey" FOREIGN KEY ("organisation_id", "subscription_id") REFERENCES "subscriptions"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage_bills" ADD CONSTRAINT "usage_bills_organisation_id_meter_id_fkey" FOREIGN KEY ("organisation_id", "meter_id") REFERENCES "meters"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage_bills" ADD CONSTRAINT "usage_bills_organisation_id_invoice_id_fkey" FOREIGN KEY ("organisation_id", "invoice_id") REFERENCES "invoices"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage_bills" ADD CONSTRAINT "usage_bills_organisation_id_credit_note_id_fkey" FOREIGN KEY ("organisation_id", "credit_note_id") REFERENCES "credit_notes"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: parts, checks, partial indexes and triggers.

DO $$ BEGIN
  FOR part IN 0..15 LOOP
    -- An insert touches all parts; vacuum keeps their maps so that sums are read from the index alone.
    EXECUTE format('CREATE TABLE usage_events_%s PARTITION OF usage_events FOR VALUES WITH (MODULUS 16, REMAINDER %s)
      WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)', part, part);
  END LOOP;
END $$;

ALTER TABLE "meters"
  ADD CONSTRAINT "meters_status" CHECK (status IN ('active', 'inactive'));

ALTER TABLE "plan_meters"
  ADD CONSTRAINT "plan_meters_type" CHECK (type IN ('per_unit', 'tiered', 'volume', 'stairstep')),
  ADD CONSTRAINT "plan_meters_price" CHECK (price BETWEEN 0 AND 999999999.9999),
  -- Up to 20 for each plan.
  ADD CONSTRAINT "plan_meters_position" CHECK (position BETWEEN 0 AND 19);

ALTER TABLE "plan_meter_tiers"
  ADD CONSTRAINT "plan_meter_tiers_position" CHECK (position >= 0),
  ADD CONSTRAINT "plan_meter_tiers_up_to" CHECK (up_to > 0),
  ADD CONSTRAINT "plan_meter_tiers_prices" CHECK (unit_price BETWEEN 0 AND 999999999.9999 AND flat_price BETWEEN 0 AND 999999999.9999
    AND num_nonnulls(unit_price, flat_price) >= 1);

ALTER TABLE "usage_events"
  ADD CONSTRAINT "usage_events_id_length" CHECK (char_length(event_id) BETWEEN 1 AND 255),
  ADD CONSTRAINT "usage_events_quantity" CHECK (quantity > 0 AND quantity <> 'NaN'),
  ADD CONSTRAINT "usage_events_bill" CHECK (period_index >= 0 AND bill >= 0),
  ADD CONSTRAINT "usage_events_voided" CHECK ((voided_at IS NULL) = (void_reason IS NULL));
-- What is to be billed, read from the index alone.
CREATE INDEX "usage_events_billed" ON "usage_events" (subscription_id, bill, period_index, meter_id) INCLUDE (quantity)
  WHERE voided_at IS NULL;

-- An event is of a subscription of its organisation, and of a meter of that subscription's plan.
CREATE FUNCTION hold_usage_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM (SELECT DISTINCT organisation_id, subscription_id, meter_id FROM stored) e
      LEFT JOIN subscriptions s ON s.organisation_id = e.organisation_id AND s.id = e.subscription_id
      LEFT JOIN plan_meters p ON p.organisation_id = e.organisation_id AND p.plan_id = s.plan_id AND p.meter_id = e.meter_id
    WHERE p.plan_id IS NULL
  ) THEN
    RAISE EXCEPTION 'a usage event of no such subscription and meter' USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "usage_events_of_plan" AFTER INSERT ON "usage_events" REFERENCING NEW TABLE AS stored
  FOR EACH STATEMENT EXECUTE FUNCTION hold_usage_events();

-- What an event says never changes, and nobody takes one away: it can be voided, once.
CREATE FUNCTION refuse_usage_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.voided_at IS NOT NULL
    OR (OLD.organisation_id, OLD.event_id, OLD.subscription_id, OLD.meter_id, OLD.period_index, OLD.bill, OLD.quantity, OLD.occurred_at,
      OLD.created_at) IS DISTINCT FROM (NEW.organisation_id, NEW.event_id, NEW.subscription_id, NEW.meter_id, NEW.period_index, NEW.bill,
      NEW.quantity, NEW.occurred_at, NEW.created_at)
  THEN
    RAISE EXCEPTION 'a usage event is stored for ever as it was reported' USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "usage_events_stay" BEFORE UPDATE OR DELETE ON "usage_events" FOR EACH ROW EXECUTE FUNCTION refuse_usage_change();

ALTER TABLE "usage_bills"
  ADD CONSTRAINT "usage_bills_numbers" CHECK (bill >= 0 AND period_index >= 0 AND events > 0),
  ADD CONSTRAINT "usage_bills_quantities" CHECK (quantity > 0 AND priced >= 0 AND quantity <> 'NaN' AND priced <> 'NaN'),
  -- An amount stands on a document: above zero on an invoice, below on a credit note.
  ADD CONSTRAINT "usage_bills_document" CHECK (CASE WHEN amount > 0 THEN invoice_id IS NOT NULL AND credit_note_id IS NULL
    WHEN amount < 0 THEN credit_note_id IS NOT NULL AND invoice_id IS NULL ELSE credit_note_id IS NULL END);

-- Subscriptions that ended before: at the instant at which they were ended, or at the end of that day in a sandbox.
UPDATE "subscriptions" s SET ended_at = coalesce(
    (SELECT max(e.created_at) FROM terminations e JOIN organisations o ON o.id = e.organisation_id
      WHERE e.organisation_id = s.organisation_id AND e.subscription_id = s.id AND e.ended AND o.test_clock IS NULL),
    (s.end_date + 1)::timestamp AT TIME ZONE s.timezone)
  WHERE s.status = 'ended';
ALTER TABLE "subscriptions"
  DROP CONSTRAINT "subscriptions_due",
  -- Of one that is over only late usage, or what Setup Mode kept from being billed, can be due.
  ADD CONSTRAINT "subscriptions_due" CHECK (status IN ('ended', 'complete') OR due_at IS NOT NULL),
  ADD CONSTRAINT "subscriptions_ended_at" CHECK ((status = 'ended') = (ended_at IS NOT NULL)),
  ADD CONSTRAINT "subscriptions_usage" CHECK (usage_billed BETWEEN 0 AND usage_bill);

ALTER TABLE "audit_log"
  DROP CONSTRAINT "audit_log_target_kind",
  ADD CONSTRAINT "audit_log_target_kind" CHECK (target_kind IN ('organisation', 'ledger_connection', 'account_mapping', 'api_key', 'plan',
    'charge', 'meter', 'customer', 'subscription', 'document', 'operator', 'operator_token', 'usage_event'));
