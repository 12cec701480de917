-- Following the ledger: how far each kind of change has been read, what webhooks said is to be looked at, and of each document what the
-- ledger's own time of it is and when it was last written here.
-- AlterTable
ALTER TABLE "credit_notes" ADD COLUMN     "ledger_reported_at" TIMESTAMPTZ(6),
ADD COLUMN     "ledger_updated_at" TIMESTAMPTZ(6);

-- AlterTable
ALTER TABLE "customers" ADD COLUMN     "deactivated_at" TIMESTAMPTZ(6),
ADD COLUMN     "ledger_updated_at" TIMESTAMPTZ(6);

-- AlterTable
ALTER TABLE "invoices" ADD COLUMN     "ledger_reported_at" TIMESTAMPTZ(6),
ADD COLUMN     "ledger_updated_at" TIMESTAMPTZ(6);

-- CreateTable
CREATE TABLE "ledger_sync_cursors" (
    "organisation_id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "contacts_since" TIMESTAMPTZ(6),
    "credit_notes_since" TIMESTAMPTZ(6),
    "invoices_since" TIMESTAMPTZ(6),
    "next_sync_at" TIMESTAMPTZ(6) NOT NULL,
    "requested_at" TIMESTAMPTZ(6),
    "sync_kind" TEXT,
    "sync_cursor" TEXT,
    "began_at" TIMESTAMPTZ(6),
    "swept_at" TIMESTAMPTZ(6),
    "contacts_changed" INTEGER NOT NULL DEFAULT 0,
    "credit_notes_changed" INTEGER NOT NULL DEFAULT 0,
    "invoices_changed" INTEGER NOT NULL DEFAULT 0,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "not_before" TIMESTAMPTZ(6),
    "reason" TEXT,
    "day_most" INTEGER,

    CONSTRAINT "ledger_sync_cursors_pkey" PRIMARY KEY ("organisation_id")
);

-- CreateTable
CREATE TABLE "ledger_notifications" (
    "organisation_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "ledger_id" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(6),
    "received_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "try_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_notifications_pkey" PRIMARY KEY ("organisation_id","kind","ledger_id")
);

-- CreateIndex
CREATE INDEX "ledger_connections_tenant_id_idx" ON "ledger_connections"("tenant_id");

-- AddForeignKey
ALTER TABLE "ledger_sync_cursors" ADD CONSTRAINT "ledger_sync_cursors_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_notifications" ADD CONSTRAINT "ledger_notifications_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: checks, and what was so until now.

ALTER TABLE "ledger_sync_cursors"
  ADD CONSTRAINT "ledger_sync_cursors_kind" CHECK (sync_kind IN ('contacts', 'credit_notes', 'invoices')),
  ADD CONSTRAINT "ledger_sync_cursors_cursor" CHECK (sync_cursor IS NULL OR sync_kind IS NOT NULL),
  ADD CONSTRAINT "ledger_sync_cursors_counts" CHECK (least(contacts_changed, credit_notes_changed, invoices_changed, failures, day_most) >= 0);
ALTER TABLE "ledger_notifications" ADD CONSTRAINT "ledger_notifications_kind" CHECK (kind IN ('contacts', 'credit_notes', 'invoices'));

-- Only operators made customers inactive.
UPDATE "customers" SET deactivated_at = now() WHERE status = 'inactive';
