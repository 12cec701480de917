-- Connections by a person's consent (authorization code flow with rotating refresh tokens), and connections that were ended.

-- AlterTable
ALTER TABLE "ledger_connections" ADD COLUMN     "disconnected_at" TIMESTAMPTZ(6),
ADD COLUMN     "disconnected_reason" TEXT,
ADD COLUMN     "grant_kind" TEXT NOT NULL DEFAULT 'custom',
ALTER COLUMN "encrypted_secret" DROP NOT NULL,
ALTER COLUMN "encryption_key_id" DROP NOT NULL;

-- CreateTable
CREATE TABLE "ledger_authorisations" (
    "organisation_id" UUID NOT NULL,
    "ledger_connection" TEXT NOT NULL,
    "generation" BIGINT NOT NULL DEFAULT 1,
    "encrypted_refresh" BYTEA NOT NULL,
    "encrypted_previous" BYTEA,
    "encrypted_access" BYTEA NOT NULL,
    "encryption_key_id" TEXT NOT NULL,
    "fresh_until" TIMESTAMPTZ(6) NOT NULL,
    "lease_id" UUID,
    "lease_until" TIMESTAMPTZ(6),
    "refreshed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_authorisations_pkey" PRIMARY KEY ("organisation_id")
);

-- CreateTable
CREATE TABLE "ledger_consents" (
    "organisation_id" UUID NOT NULL,
    "operator_id" UUID NOT NULL,
    "token_id" UUID NOT NULL,
    "state_hash" BYTEA NOT NULL,
    "redirect_url" TEXT NOT NULL,
    "encrypted_verifier" BYTEA,
    "encrypted_tokens" BYTEA,
    "tenants" JSONB,
    "encryption_key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "used_at" TIMESTAMPTZ(6),
    "connected_at" TIMESTAMPTZ(6),
    "failure" TEXT,

    CONSTRAINT "ledger_consents_pkey" PRIMARY KEY ("organisation_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "ledger_consents_state_hash_key" ON "ledger_consents"("state_hash");

-- AddForeignKey
ALTER TABLE "ledger_authorisations" ADD CONSTRAINT "ledger_authorisations_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "ledger_connections"("organisation_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_consents" ADD CONSTRAINT "ledger_consents_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_consents" ADD CONSTRAINT "ledger_consents_operator_id_fkey" FOREIGN KEY ("operator_id") REFERENCES "operators"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks. A secret is kept exactly where it is of use, and so are tokens that wait for a choice.
ALTER TABLE "ledger_connections"
  ADD CONSTRAINT "ledger_connections_grant" CHECK (grant_kind IN ('custom', 'authorisation')),
  ADD CONSTRAINT "ledger_connections_disconnected" CHECK ((disconnected_at IS NULL) = (disconnected_reason IS NULL)),
  ADD CONSTRAINT "ledger_connections_secret" CHECK ((encrypted_secret IS NOT NULL) = (grant_kind = 'custom' AND disconnected_at IS NULL)),
  ADD CONSTRAINT "ledger_connections_sealed" CHECK ((encrypted_secret IS NULL) = (encryption_key_id IS NULL));
ALTER TABLE "ledger_authorisations"
  ADD CONSTRAINT "ledger_authorisations_lease" CHECK ((lease_id IS NULL) = (lease_until IS NULL));
ALTER TABLE "ledger_consents"
  ADD CONSTRAINT "ledger_consents_choice" CHECK ((encrypted_tokens IS NULL) = (tenants IS NULL)),
  ADD CONSTRAINT "ledger_consents_state" CHECK ((encrypted_verifier IS NULL) = (used_at IS NOT NULL)),
  ADD CONSTRAINT "ledger_consents_outcome" CHECK (num_nonnulls(connected_at, failure, tenants) <= 1
    AND (used_at IS NOT NULL OR num_nonnulls(connected_at, failure, tenants) = 0));
-- Written anew with each refresh, and with each lease.
ALTER TABLE "ledger_authorisations" SET (fillfactor = 50);
