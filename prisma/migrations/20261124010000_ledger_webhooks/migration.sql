-- A webhook of a ledger read every connection and all pending notifications of the organisation.

-- Connections by tenant, which ledgers write in capital or small letters. It replaces an index that
-- no statement used.
CREATE INDEX ledger_connections_tenant ON ledger_connections (lower(tenant_id));

DROP INDEX ledger_connections_tenant_id_idx;

-- Notifications that are due. Of thousands that wait for a later read, none is read.
CREATE INDEX ledger_notifications_organisation_id_try_at_idx
  ON ledger_notifications (organisation_id, try_at);
