-- The application's side: operators and their tokens, the audit log, and what lists of organisations and keys need.

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "seq" BIGSERIAL NOT NULL;

-- AlterTable
ALTER TABLE "idempotency_keys" ALTER COLUMN "organisation_id" DROP NOT NULL;

-- AlterTable
ALTER TABLE "organisations" ADD COLUMN     "catalogue_version" BIGINT NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "operators" (
    "id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "operators_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "operator_tokens" (
    "id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "operator_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "hint" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "operator_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_log" (
    "id" UUID NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "operator_id" UUID,
    "operator_name" TEXT NOT NULL,
    "token_id" UUID,
    "operation" TEXT NOT NULL,
    "organisation_id" UUID,
    "target_kind" TEXT NOT NULL,
    "target_id" UUID NOT NULL,
    "before" JSONB,
    "after" JSONB,
    "request_id" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "operators_seq_key" ON "operators"("seq");

-- CreateIndex
CREATE UNIQUE INDEX "operator_tokens_seq_key" ON "operator_tokens"("seq");

-- CreateIndex
CREATE UNIQUE INDEX "operator_tokens_token_hash_key" ON "operator_tokens"("token_hash");

-- CreateIndex
CREATE INDEX "operator_tokens_operator_id_seq_idx" ON "operator_tokens"("operator_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "audit_log_seq_key" ON "audit_log"("seq");

-- CreateIndex
CREATE INDEX "audit_log_organisation_id_seq_idx" ON "audit_log"("organisation_id", "seq");

-- CreateIndex
CREATE INDEX "audit_log_operator_id_seq_idx" ON "audit_log"("operator_id", "seq");

-- CreateIndex
CREATE INDEX "audit_log_target_id_seq_idx" ON "audit_log"("target_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_organisation_id_seq_key" ON "api_keys"("organisation_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "organisations_seq_key" ON "organisations"("seq");

-- AddForeignKey
ALTER TABLE "operator_tokens" ADD CONSTRAINT "operator_tokens_operator_id_fkey" FOREIGN KEY ("operator_id") REFERENCES "operators"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_operator_id_fkey" FOREIGN KEY ("operator_id") REFERENCES "operators"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What Prisma's language cannot say.

ALTER TABLE "operators" ADD CONSTRAINT "operators_role" CHECK (role IN ('read-only', 'admin', 'owner'));

ALTER TABLE "operator_tokens" ADD CONSTRAINT "operator_tokens_hash_is_sha256" CHECK (octet_length(token_hash) = 32);

ALTER TABLE "audit_log"
  ADD CONSTRAINT "audit_log_target_kind" CHECK (target_kind IN ('organisation', 'ledger_connection', 'account_mapping', 'api_key', 'plan',
    'charge', 'customer', 'document', 'operator', 'operator_token')),
  ADD CONSTRAINT "audit_log_has_a_change" CHECK (num_nonnulls(before, after) >= 1),
  ADD CONSTRAINT "audit_log_operator_has_token" CHECK (operator_id IS NULL OR (token_id IS NOT NULL AND request_id IS NOT NULL));

-- The log is only ever added to, by whomever: who may change the schema can take this away, and nobody else.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
END $$;
CREATE TRIGGER "audit_log_only_grows" BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_log"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- Admits an operator by the SHA-256 of the token: no row for an unknown, revoked or expired one, or where the operator is not active.
CREATE FUNCTION admit_operator(the_hash bytea)
RETURNS TABLE (token_id uuid, operator_id uuid, operator_name text, operator_role text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  admitted record;
BEGIN
  SELECT t.id, t.last_used_at, o.id AS owner_id, o.name, o.role INTO admitted
  FROM operator_tokens t JOIN operators o ON o.id = t.operator_id
  WHERE t.token_hash = the_hash AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()) AND o.active;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF admitted.last_used_at IS NULL OR admitted.last_used_at < clock_timestamp() - interval '1 minute' THEN
    -- Only for people to look at: not worth a wait for the disk.
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE operator_tokens t SET last_used_at = clock_timestamp()
    WHERE t.id = admitted.id AND (t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '1 minute');
  END IF;
  RETURN QUERY SELECT admitted.id, admitted.owner_id, admitted.name, admitted.role;
END $$;

-- Why a document failed: its last refused operation. Refusals are few, so the index costs nothing where all goes well.
CREATE INDEX "ledger_jobs_refused" ON "ledger_jobs" (invoice_id, seq) WHERE state = 'refused';
