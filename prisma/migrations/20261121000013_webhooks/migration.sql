-- Webhooks: changes are marked in the transaction that makes them, combined into events each minute, and delivered to endpoints.

-- CreateTable
CREATE TABLE "outbox" (
    "seq" BIGSERIAL NOT NULL,
    "organisation_id" UUID NOT NULL,
    "object_kind" TEXT NOT NULL,
    "object_id" UUID NOT NULL,
    "change" TEXT NOT NULL,
    "recorded_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("organisation_id","seq")
);

-- CreateTable
CREATE TABLE "published_snapshots" (
    "organisation_id" UUID NOT NULL,
    "object_kind" TEXT NOT NULL,
    "object_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL DEFAULT 0,
    "object" TEXT NOT NULL,

    CONSTRAINT "published_snapshots_pkey" PRIMARY KEY ("organisation_id","object_kind","object_id")
);

-- CreateTable
CREATE TABLE "events" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "type" TEXT NOT NULL,
    "object_kind" TEXT NOT NULL,
    "object_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,
    "body" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "kinds" TEXT[],
    "status" TEXT NOT NULL DEFAULT 'enabled',
    "disabled_reason" TEXT,
    "disabled_at" TIMESTAMPTZ(6),
    "encrypted_secret" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "encrypted_previous" BYTEA,
    "previous_key_id" TEXT,
    "previous_until" TIMESTAMPTZ(6),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failing_since" TIMESTAMPTZ(6),
    "open_until" TIMESTAMPTZ(6),
    "succeeded_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" UUID NOT NULL,
    "organisation_id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "event_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "began_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(6) DEFAULT CURRENT_TIMESTAMP,
    "last_status" INTEGER,
    "last_error" TEXT,
    "finished_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_attempts" (
    "organisation_id" UUID NOT NULL,
    "delivery_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL,
    "latency_ms" INTEGER NOT NULL,
    "status" INTEGER,
    "error" TEXT,
    "answer" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id","number")
);

-- CreateIndex
CREATE INDEX "outbox_organisation_id_object_kind_object_id_idx" ON "outbox"("organisation_id", "object_kind", "object_id");

-- CreateIndex
CREATE UNIQUE INDEX "events_organisation_id_id_key" ON "events"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "events_organisation_id_seq_key" ON "events"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "events_sequence_key" ON "events"("organisation_id", "object_kind", "object_id", "sequence");

-- CreateIndex
CREATE INDEX "events_created_at_idx" ON "events"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_endpoints_organisation_id_id_key" ON "webhook_endpoints"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_endpoints_organisation_id_seq_key" ON "webhook_endpoints"("organisation_id", "seq");

-- CreateIndex
CREATE INDEX "webhook_deliveries_endpoint_id_seq_idx" ON "webhook_deliveries"("endpoint_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_deliveries_organisation_id_id_key" ON "webhook_deliveries"("organisation_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_deliveries_organisation_id_seq_key" ON "webhook_deliveries"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_deliveries_event_id_endpoint_id_key" ON "webhook_deliveries"("event_id", "endpoint_id");

-- AddForeignKey
ALTER TABLE "published_snapshots" ADD CONSTRAINT "published_snapshots_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_organisation_id_event_id_fkey" FOREIGN KEY ("organisation_id", "event_id") REFERENCES "events"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_organisation_id_endpoint_id_fkey" FOREIGN KEY ("organisation_id", "endpoint_id") REFERENCES "webhook_endpoints"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_organisation_id_delivery_id_fkey" FOREIGN KEY ("organisation_id", "delivery_id") REFERENCES "webhook_deliveries"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: checks, the deliveries that somebody must be at, and the marks.
ALTER TABLE "outbox"
  ADD CONSTRAINT "outbox_kind" CHECK (object_kind IN ('customer', 'subscription', 'invoice', 'credit_note')),
  ADD CONSTRAINT "outbox_change" CHECK (change IN ('created', 'updated', 'ended', 'paid', 'voided', 'deleted'));
ALTER TABLE "published_snapshots"
  ADD CONSTRAINT "published_snapshots_kind" CHECK (object_kind IN ('customer', 'subscription', 'invoice', 'credit_note')),
  ADD CONSTRAINT "published_snapshots_sequence" CHECK (sequence >= 0);
ALTER TABLE "events"
  ADD CONSTRAINT "events_sequence" CHECK (sequence > 0),
  ADD CONSTRAINT "events_body" CHECK (length(body) > 0);
ALTER TABLE "webhook_endpoints"
  ADD CONSTRAINT "webhook_endpoints_url" CHECK (length(url) BETWEEN 1 AND 2048),
  ADD CONSTRAINT "webhook_endpoints_kinds" CHECK (kinds IS NOT NULL),
  ADD CONSTRAINT "webhook_endpoints_status" CHECK (status IN ('enabled', 'disabled')),
  ADD CONSTRAINT "webhook_endpoints_disabled" CHECK ((status = 'disabled') = (disabled_at IS NOT NULL)
    AND (status = 'disabled') = (disabled_reason IS NOT NULL)),
  ADD CONSTRAINT "webhook_endpoints_previous" CHECK (num_nonnulls(encrypted_previous, previous_key_id, previous_until) IN (0, 3)),
  ADD CONSTRAINT "webhook_endpoints_failures" CHECK (failures >= 0 AND (failures > 0) = (failing_since IS NOT NULL)
    AND (open_until IS NULL OR failures > 0));
ALTER TABLE "webhook_deliveries"
  ADD CONSTRAINT "webhook_deliveries_state" CHECK (state IN ('pending', 'delivered', 'exhausted', 'cancelled')),
  ADD CONSTRAINT "webhook_deliveries_attempts" CHECK (attempts >= 0),
  -- Nothing that is pending is nobody's, and nothing that is settled is started again.
  ADD CONSTRAINT "webhook_deliveries_settled" CHECK ((state = 'pending') = (due_at IS NOT NULL)
    AND (state = 'pending') = (finished_at IS NULL));
ALTER TABLE "webhook_attempts"
  ADD CONSTRAINT "webhook_attempts_number" CHECK (number > 0),
  ADD CONSTRAINT "webhook_attempts_latency" CHECK (latency_ms >= 0),
  ADD CONSTRAINT "webhook_attempts_answer" CHECK (length(answer) <= 1024);
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" ("organisation_id", "due_at") WHERE state = 'pending';
-- What went wrong is rare, and found without all that went well. A delivery that goes well leaves it again.
CREATE INDEX "webhook_deliveries_not_delivered" ON "webhook_deliveries" ("organisation_id", "state", "seq") WHERE state <> 'delivered';

-- Marks live for a minute: their table is cleaned up often. A delivery is written with each attempt.
ALTER TABLE "outbox" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE "webhook_endpoints" SET (fillfactor = 50);

-- What an event says never changes: receivers were sent it.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an event stays as it was told' USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
END $$;
CREATE TRIGGER "events_stay" BEFORE UPDATE ON "events" FOR EACH ROW EXECUTE FUNCTION refuse_event_change();

-- The marks: one for each object that a statement changes in what is shown of it, with what became of it. They are only ever added here,
-- so that no two transactions wait for each other because of them.
CREATE FUNCTION outbox_customers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A customer whose contact is still being made is none yet.
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'customer', id, 'created' FROM now_rows WHERE ledger_contact_id IS NOT NULL;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'customer', n.id, CASE WHEN o.ledger_contact_id IS NULL THEN 'created' ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE n.ledger_contact_id IS NOT NULL
          AND (n.code, n.name, n.company_name, n.first_name, n.last_name, n.email, n.status, n.ledger_contact_id)
            IS DISTINCT FROM (o.code, o.name, o.company_name, o.first_name, o.last_name, o.email, o.status, o.ledger_contact_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "customers_marked_made" AFTER INSERT ON "customers" REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_customers();
CREATE TRIGGER "customers_marked" AFTER UPDATE ON "customers" REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_customers();

CREATE FUNCTION outbox_subscriptions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'subscription', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'subscription', n.id,
          CASE WHEN n.status IN ('ended', 'complete') AND o.status NOT IN ('ended', 'complete') THEN 'ended' ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.status, n.start_date, n.renewal_date, n.end_date, n.units, n.minimum_units, n.discount_percent, n.price_override,
            n.cancel_at_period_end, n.end_after_cycles, n.label, n.invoice_reference)
          IS DISTINCT FROM (o.status, o.start_date, o.renewal_date, o.end_date, o.units, o.minimum_units, o.discount_percent,
            o.price_override, o.cancel_at_period_end, o.end_after_cycles, o.label, o.invoice_reference);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "subscriptions_marked_made" AFTER INSERT ON "subscriptions" REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_subscriptions();
CREATE TRIGGER "subscriptions_marked" AFTER UPDATE ON "subscriptions" REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_subscriptions();

CREATE FUNCTION outbox_invoices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'invoice', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'invoice', n.id,
          CASE WHEN n.status <> o.status AND n.status IN ('paid', 'voided', 'deleted') THEN n.status ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.number, n.reference, n.status, n.subtotal, n.total, n.amount_due, n.issue_date, n.due_date, n.period_start, n.period_end,
            n.sent, n.ledger_invoice_id, n.sync_error)
          IS DISTINCT FROM (o.number, o.reference, o.status, o.subtotal, o.total, o.amount_due, o.issue_date, o.due_date, o.period_start,
            o.period_end, o.sent, o.ledger_invoice_id, o.sync_error);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "invoices_marked_made" AFTER INSERT ON "invoices" REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_invoices();
CREATE TRIGGER "invoices_marked" AFTER UPDATE ON "invoices" REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_invoices();

CREATE FUNCTION outbox_credit_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'credit_note', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'credit_note', n.id,
          CASE WHEN n.status <> o.status AND n.status IN ('voided', 'deleted') THEN n.status ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.number, n.reference, n.status, n.credit_note_date, n.subtotal, n.total, n.remaining_credit, n.sent,
            n.ledger_credit_note_id, n.sync_error)
          IS DISTINCT FROM (o.number, o.reference, o.status, o.credit_note_date, o.subtotal, o.total, o.remaining_credit, o.sent,
            o.ledger_credit_note_id, o.sync_error);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "credit_notes_marked_made" AFTER INSERT ON "credit_notes" REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_credit_notes();
CREATE TRIGGER "credit_notes_marked" AFTER UPDATE ON "credit_notes" REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_credit_notes();

-- What stands on a document is shown with it.
CREATE FUNCTION outbox_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    -- A line that moves changes both its invoices.
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'invoice', i.id, 'updated' FROM now_rows n JOIN old_rows o ON o.id = n.id
          CROSS JOIN LATERAL (VALUES (n.invoice_id), (o.invoice_id)) i(id)
        WHERE (n.invoice_id, n.position, n.kind, n.name, n.description, n.units, n.quantity, n.unit_price, n.amount, n.period_start, n.period_end,
            n.from_units, n.to_units, n.days_remaining, n.days_in_period, n.amending)
          IS DISTINCT FROM (o.invoice_id, o.position, o.kind, o.name, o.description, o.units, o.quantity, o.unit_price, o.amount, o.period_start,
            o.period_end, o.from_units, o.to_units, o.days_remaining, o.days_in_period, o.amending);
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'invoice', invoice_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "invoice_lines_marked_made" AFTER INSERT ON "invoice_lines" REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_lines();
CREATE TRIGGER "invoice_lines_marked_gone" AFTER DELETE ON "invoice_lines" REFERENCING OLD TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_lines();
CREATE TRIGGER "invoice_lines_marked" AFTER UPDATE ON "invoice_lines" REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_lines();

CREATE FUNCTION outbox_allocations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'credit_note', n.credit_note_id, 'updated' FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.invoice_id, n.amount, n.date, n.status, n.sync_status)
          IS DISTINCT FROM (o.invoice_id, o.amount, o.date, o.status, o.sync_status);
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'credit_note', credit_note_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "allocations_marked_made" AFTER INSERT ON "allocations" REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_allocations();
CREATE TRIGGER "allocations_marked_gone" AFTER DELETE ON "allocations" REFERENCING OLD TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_allocations();
CREATE TRIGGER "allocations_marked" AFTER UPDATE ON "allocations" REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_allocations();

ALTER TABLE "audit_log"
  DROP CONSTRAINT "audit_log_target_kind",
  ADD CONSTRAINT "audit_log_target_kind" CHECK (target_kind IN ('organisation', 'ledger_connection', 'account_mapping', 'api_key', 'plan',
    'charge', 'meter', 'customer', 'subscription', 'document', 'operator', 'operator_token', 'usage_event', 'webhook_endpoint',
    'webhook_delivery'));
