-- A row of a subscription that names a document names one of that subscription. Triggers check only
-- the rows that name one: a foreign key would need one more unique index on every invoice and
-- credit note. New invoices are exempt, because each is written in one statement with its job.
CREATE OR REPLACE FUNCTION is_of_subscription(organisation uuid, subscription uuid,
  invoice_ids uuid[], note_id uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (SELECT 1 FROM invoices i WHERE i.organisation_id = organisation
    AND i.id = ANY (invoice_ids) AND i.subscription_id <> subscription)
    AND NOT EXISTS (SELECT 1 FROM credit_notes n WHERE n.organisation_id = organisation
      AND n.id = note_id AND n.subscription_id <> subscription)
$$;
