-- Expands the schema for restores and erasures. It removes nothing that an earlier version uses.

-- Documents that the ledger has under our numbers or with our link, and that a restored database
-- does not know.
CREATE TABLE unknown_documents (
  organisation_id UUID NOT NULL,
  kind TEXT NOT NULL,
  ledger_id TEXT NOT NULL,
  number TEXT NOT NULL,
  contact_id TEXT NOT NULL,
  status TEXT NOT NULL,
  currency TEXT NOT NULL,
  reference TEXT NOT NULL,
  issue_date DATE NOT NULL,
  subtotal DECIMAL(20,4) NOT NULL,
  total DECIMAL(20,4) NOT NULL,
  lines JSONB NOT NULL,
  state TEXT NOT NULL DEFAULT 'open',
  document_id UUID,
  found_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT unknown_documents_pkey PRIMARY KEY (organisation_id, kind, ledger_id),
  CONSTRAINT unknown_documents_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT unknown_documents_kind CHECK (kind IN ('invoice', 'credit_note')),
  CONSTRAINT unknown_documents_state CHECK (state IN ('open', 'adopted', 'dismissed', 'removed')),
  CONSTRAINT unknown_documents_adopted CHECK ((state = 'adopted') = (document_id IS NOT NULL))
);

-- Posting asks for both before it creates a document.
CREATE INDEX unknown_documents_open ON unknown_documents (organisation_id, contact_id)
  WHERE state = 'open';

-- One document here takes at most one document of the ledger.
CREATE UNIQUE INDEX unknown_documents_taken ON unknown_documents (organisation_id, document_id)
  WHERE document_id IS NOT NULL;

-- When the personal data of a customer were erased. Its contact is no longer synced.
ALTER TABLE customers ADD COLUMN erased_at TIMESTAMPTZ(6);

-- An object's JSON with its personal data replaced as an erasure replaces it: the values are those
-- of src/store/admin/erase-customer.ts. A ledger's message may name its contact. Arrays stay, so
-- that the names of a document's lines do.
CREATE FUNCTION erased_members(entry jsonb) RETURNS jsonb IMMUTABLE STRICT LANGUAGE sql AS $$
  SELECT coalesce(jsonb_object_agg(m.key, CASE
      WHEN jsonb_typeof(m.value) = 'null' THEN m.value
      WHEN m.key IN ('name', 'company_name', 'first_name', 'last_name', 'sync_error')
        THEN '"erased"'::jsonb
      WHEN m.key = 'email' THEN '"erased@erased.invalid"'::jsonb
      WHEN jsonb_typeof(m.value) = 'object' THEN erased_members(m.value)
      ELSE m.value END), '{}')
  FROM jsonb_each(entry) AS m(key, value)
$$;

-- Nothing deletes an entry of the audit log, whichever role asks. An update can only erase the
-- personal data of a customer. Only an owner of the schema can remove these rules.
DROP TRIGGER audit_log_only_grows ON audit_log;

CREATE TRIGGER audit_log_only_grows BEFORE DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

CREATE FUNCTION refuse_audit_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.target_kind NOT IN ('customer', 'document')
    OR (to_jsonb(NEW) - 'before' - 'after') IS DISTINCT FROM (to_jsonb(OLD) - 'before' - 'after')
    OR NEW.before IS DISTINCT FROM erased_members(OLD.before)
    OR NEW.after IS DISTINCT FROM erased_members(OLD.after)
  THEN
    RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'check_violation',
      CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER audit_log_only_erases BEFORE UPDATE ON audit_log FOR EACH ROW
  EXECUTE FUNCTION refuse_audit_update();

-- An event never changes, because receivers were sent it. Only the personal data of a customer can
-- be erased from it.
CREATE OR REPLACE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.object_kind NOT IN ('customer', 'invoice', 'credit_note')
    OR (to_jsonb(NEW) - 'body') IS DISTINCT FROM (to_jsonb(OLD) - 'body')
    OR NEW.body::jsonb IS DISTINCT FROM erased_members(OLD.body::jsonb)
  THEN
    RAISE EXCEPTION 'an event never changes' USING ERRCODE = 'check_violation',
      CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
