-- The schema of the service. Prisma owns the tables, their columns and their indexes. What its
-- language cannot express stands here alone: checks, partial indexes, partitions, functions and
-- triggers.

CREATE TABLE organisations (
  id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  name TEXT NOT NULL,
  timezone TEXT NOT NULL,
  default_currency TEXT NOT NULL,
  livemode BOOLEAN NOT NULL,
  setup_mode BOOLEAN NOT NULL DEFAULT false,
  can_create_ledger_contacts BOOLEAN NOT NULL DEFAULT false,
  usage_allowed BOOLEAN NOT NULL DEFAULT false,
  test_clock TIMESTAMPTZ(6),
  invoice_create_days INTEGER NOT NULL DEFAULT 0,
  first_invoice_status TEXT NOT NULL DEFAULT 'draft',
  due_days INTEGER NOT NULL DEFAULT 14,
  number_prefix TEXT NOT NULL DEFAULT 'INV-',
  revenue_account TEXT,
  tax_type TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  catalogue_version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT organisations_pkey PRIMARY KEY (id),
  CONSTRAINT organisations_clock_is_a_sandboxs CHECK (test_clock IS NULL OR NOT livemode),
  CONSTRAINT organisations_first_invoice_status CHECK (first_invoice_status IN ('draft',
    'awaiting_approval', 'approved')),
  CONSTRAINT organisations_invoice_create_days CHECK (invoice_create_days BETWEEN 0 AND 3650),
  CONSTRAINT organisations_due_days CHECK (due_days BETWEEN 0 AND 365),
  CONSTRAINT organisations_currency CHECK (default_currency ~ '^[A-Z]{3}$')
);

CREATE UNIQUE INDEX organisations_seq_key ON organisations (seq);

CREATE TABLE clock_advances (
  organisation_id UUID NOT NULL,
  started_from TIMESTAMPTZ(6) NOT NULL,
  target TIMESTAMPTZ(6) NOT NULL,
  performed INTEGER NOT NULL DEFAULT 0,
  issued INTEGER NOT NULL DEFAULT 0,
  parked INTEGER NOT NULL DEFAULT 0,
  started_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  moved_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  finished_at TIMESTAMPTZ(6),
  CONSTRAINT clock_advances_pkey PRIMARY KEY (organisation_id),
  CONSTRAINT clock_advances_forward CHECK (target > started_from),
  CONSTRAINT clock_advances_counts CHECK (((performed >= 0) AND (issued >= 0) AND (parked >= 0)))
);

-- The advances that run. The dispatcher reads them. No indexed column changes while an advance
-- runs, so counting costs no index write.
CREATE INDEX clock_advances_running ON clock_advances (organisation_id) WHERE finished_at IS NULL;

CREATE TABLE api_keys (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  name TEXT NOT NULL,
  key_hash BYTEA NOT NULL,
  hint TEXT NOT NULL,
  scopes TEXT[],
  expires_at TIMESTAMPTZ(6),
  revoked_at TIMESTAMPTZ(6),
  last_used_at TIMESTAMPTZ(6),
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  seq BIGSERIAL NOT NULL,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32)
);

CREATE UNIQUE INDEX api_keys_key_hash_key ON api_keys (key_hash);

CREATE UNIQUE INDEX api_keys_organisation_id_id_key ON api_keys (organisation_id, id);

CREATE UNIQUE INDEX api_keys_organisation_id_seq_key ON api_keys (organisation_id, seq);

CREATE UNLOGGED TABLE rate_windows (
  api_key_id UUID NOT NULL,
  hits TIMESTAMPTZ(6)[],
  CONSTRAINT rate_windows_pkey PRIMARY KEY (api_key_id)
) WITH (fillfactor=50);

CREATE TABLE idempotency_keys (
  api_key_id UUID NOT NULL,
  key TEXT NOT NULL,
  organisation_id UUID,
  operation TEXT NOT NULL,
  path TEXT NOT NULL,
  fingerprint BYTEA NOT NULL,
  state TEXT NOT NULL,
  owner UUID NOT NULL,
  lease_until TIMESTAMPTZ(6) NOT NULL,
  response BYTEA,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (api_key_id, key),
  CONSTRAINT idempotency_keys_state CHECK (state IN ('running', 'done')),
  CONSTRAINT idempotency_keys_done_has_response CHECK ((state = 'done') = (response IS NOT NULL))
) WITH (fillfactor=70);

CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);

CREATE TABLE ledger_connections (
  organisation_id UUID NOT NULL,
  kind TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  base_url TEXT NOT NULL,
  identity_url TEXT NOT NULL,
  client_id TEXT NOT NULL,
  encrypted_secret BYTEA,
  encryption_key_id TEXT,
  paused_until TIMESTAMPTZ(6),
  paused_reason TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  disconnected_at TIMESTAMPTZ(6),
  disconnected_reason TEXT,
  grant_kind TEXT NOT NULL DEFAULT 'custom',
  CONSTRAINT ledger_connections_pkey PRIMARY KEY (organisation_id),
  -- A secret is stored exactly when the kind of grant uses one. So are tokens that await a choice.
  CONSTRAINT ledger_connections_grant CHECK (grant_kind IN ('custom', 'authorisation')),
  CONSTRAINT ledger_connections_disconnected
    CHECK ((disconnected_at IS NULL) = (disconnected_reason IS NULL)),
  CONSTRAINT ledger_connections_secret
    CHECK ((encrypted_secret IS NOT NULL) = (grant_kind = 'custom' AND disconnected_at IS NULL)),
  CONSTRAINT ledger_connections_encrypted
    CHECK ((encrypted_secret IS NULL) = (encryption_key_id IS NULL))
);

CREATE INDEX ledger_connections_tenant_id_idx ON ledger_connections (tenant_id);

CREATE TABLE ledger_authorisations (
  organisation_id UUID NOT NULL,
  ledger_connection TEXT NOT NULL,
  generation BIGINT NOT NULL DEFAULT 1,
  encrypted_refresh BYTEA NOT NULL,
  encrypted_previous BYTEA,
  encrypted_access BYTEA NOT NULL,
  encryption_key_id TEXT NOT NULL,
  fresh_until TIMESTAMPTZ(6) NOT NULL,
  lease_id UUID,
  lease_until TIMESTAMPTZ(6),
  CONSTRAINT ledger_authorisations_pkey PRIMARY KEY (organisation_id),
  CONSTRAINT ledger_authorisations_lease CHECK ((lease_id IS NULL) = (lease_until IS NULL))
) WITH (fillfactor=50);

CREATE TABLE ledger_consents (
  organisation_id UUID NOT NULL,
  kind TEXT NOT NULL,
  operator_id UUID NOT NULL,
  token_id UUID NOT NULL,
  state_hash BYTEA NOT NULL,
  redirect_url TEXT NOT NULL,
  encrypted_verifier BYTEA,
  encrypted_tokens BYTEA,
  tenants JSONB,
  encryption_key_id TEXT NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at TIMESTAMPTZ(6) NOT NULL,
  used_at TIMESTAMPTZ(6),
  connected_at TIMESTAMPTZ(6),
  failure TEXT,
  CONSTRAINT ledger_consents_pkey PRIMARY KEY (organisation_id),
  CONSTRAINT ledger_consents_choice CHECK ((encrypted_tokens IS NULL) = (tenants IS NULL)),
  CONSTRAINT ledger_consents_state CHECK ((encrypted_verifier IS NULL) = (used_at IS NOT NULL)),
  CONSTRAINT ledger_consents_outcome CHECK (num_nonnulls(connected_at, failure, tenants) <= 1
    AND (used_at IS NOT NULL OR num_nonnulls(connected_at, failure, tenants) = 0))
);

CREATE UNIQUE INDEX ledger_consents_state_hash_key ON ledger_consents (state_hash);

CREATE TABLE ledger_budgets (
  organisation_id UUID NOT NULL,
  calls TIMESTAMPTZ(6)[],
  flights UUID[],
  flights_until TIMESTAMPTZ(6)[],
  granted_at TIMESTAMPTZ(6),
  written_at TIMESTAMPTZ(6),
  minute_limit INTEGER NOT NULL DEFAULT 60,
  others_calls INTEGER NOT NULL DEFAULT 0,
  others_until TIMESTAMPTZ(6),
  day_remaining INTEGER,
  day_observed_at TIMESTAMPTZ(6),
  CONSTRAINT ledger_budgets_pkey PRIMARY KEY (organisation_id),
  CONSTRAINT ledger_budgets_limit CHECK (minute_limit >= 1),
  CONSTRAINT ledger_budgets_others CHECK (others_calls >= 0),
  CONSTRAINT ledger_budgets_flights CHECK (coalesce(cardinality(flights),
    0) = coalesce(cardinality(flights_until), 0))
) WITH (fillfactor=50);

CREATE TABLE ledger_reference_data (
  organisation_id UUID NOT NULL,
  kind TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  data JSONB,
  fetched_at TIMESTAMPTZ(6),
  invalidated_at TIMESTAMPTZ(6),
  next_read_at TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT ledger_reference_data_pkey PRIMARY KEY (organisation_id, kind),
  -- The few documents whose amounts differ from the ledger's, among many that agree.
  CONSTRAINT ledger_reference_data_kind CHECK (kind IN ('organisation', 'accounts', 'tax_rates',
    'currencies')),
  CONSTRAINT ledger_reference_data_fetched CHECK (((data IS NULL) = (fetched_at IS NULL)))
);

CREATE TABLE ledger_sync_cursors (
  organisation_id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  contacts_since TIMESTAMPTZ(6),
  credit_notes_since TIMESTAMPTZ(6),
  invoices_since TIMESTAMPTZ(6),
  next_sync_at TIMESTAMPTZ(6) NOT NULL,
  requested_at TIMESTAMPTZ(6),
  sync_kind TEXT,
  sync_cursor TEXT,
  began_at TIMESTAMPTZ(6),
  synced_at TIMESTAMPTZ(6),
  contacts_changed INTEGER NOT NULL DEFAULT 0,
  credit_notes_changed INTEGER NOT NULL DEFAULT 0,
  invoices_changed INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  not_before TIMESTAMPTZ(6),
  reason TEXT,
  day_most INTEGER,
  part_paid_checked_at TIMESTAMPTZ(6),
  CONSTRAINT ledger_sync_cursors_pkey PRIMARY KEY (organisation_id),
  CONSTRAINT ledger_sync_cursors_kind CHECK (sync_kind IN ('contacts', 'credit_notes', 'invoices')),
  CONSTRAINT ledger_sync_cursors_cursor CHECK (sync_cursor IS NULL OR sync_kind IS NOT NULL),
  CONSTRAINT ledger_sync_cursors_counts CHECK (least(contacts_changed, credit_notes_changed,
    invoices_changed, failures, day_most) >= 0)
);

CREATE TABLE ledger_notifications (
  organisation_id UUID NOT NULL,
  kind TEXT NOT NULL,
  ledger_id TEXT NOT NULL,
  changed_at TIMESTAMPTZ(6),
  received_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  try_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  failures INTEGER NOT NULL DEFAULT 0,
  reason TEXT,
  CONSTRAINT ledger_notifications_pkey PRIMARY KEY (organisation_id, kind, ledger_id),
  CONSTRAINT ledger_notifications_kind CHECK (kind IN ('contacts', 'credit_notes', 'invoices')),
  CONSTRAINT ledger_notifications_failures CHECK (failures >= 0)
);

CREATE TABLE document_counters (
  organisation_id UUID NOT NULL,
  kind TEXT NOT NULL,
  next BIGINT NOT NULL DEFAULT 1,
  CONSTRAINT document_counters_pkey PRIMARY KEY (organisation_id, kind),
  CONSTRAINT document_counters_kind CHECK (kind IN ('invoice', 'credit_note', 'customer')),
  CONSTRAINT document_counters_next CHECK (next >= 1)
);

CREATE TABLE customers (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  code TEXT NOT NULL,
  name TEXT NOT NULL,
  company_name TEXT,
  first_name TEXT,
  last_name TEXT,
  email TEXT NOT NULL,
  status TEXT NOT NULL,
  ledger_contact_id TEXT,
  request_hash BYTEA,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  deactivated_at TIMESTAMPTZ(6),
  ledger_updated_at TIMESTAMPTZ(6),
  CONSTRAINT customers_pkey PRIMARY KEY (id),
  CONSTRAINT customers_status CHECK (status IN ('active', 'inactive'))
);

CREATE UNIQUE INDEX customers_organisation_id_id_key ON customers (organisation_id, id);

CREATE UNIQUE INDEX customers_organisation_id_code_key ON customers (organisation_id, code);

CREATE UNIQUE INDEX customers_organisation_id_ledger_contact_id_key ON customers (organisation_id,
  ledger_contact_id);

CREATE UNIQUE INDEX customers_organisation_id_seq_key ON customers (organisation_id, seq);

CREATE INDEX customers_organisation_id_email_idx ON customers (organisation_id, lower(email), seq);

CREATE TABLE plans (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  code TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  interval_unit TEXT NOT NULL DEFAULT 'month',
  interval_count INTEGER NOT NULL DEFAULT 1,
  currency TEXT NOT NULL,
  price DECIMAL(20,4) NOT NULL,
  minimum_units INTEGER NOT NULL DEFAULT 0,
  free_units INTEGER NOT NULL DEFAULT 0,
  unit_singular TEXT NOT NULL DEFAULT 'unit',
  unit_plural TEXT NOT NULL DEFAULT 'units',
  allows_price_override BOOLEAN NOT NULL DEFAULT false,
  status TEXT NOT NULL,
  revenue_account TEXT,
  tax_type TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT plans_pkey PRIMARY KEY (id),
  CONSTRAINT plans_type CHECK (type IN ('flat_fee', 'per_unit', 'tiered', 'volume', 'stairstep')),
  CONSTRAINT plans_status CHECK (status IN ('draft', 'active', 'inactive', 'legacy')),
  CONSTRAINT plans_currency CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT plans_interval CHECK (interval_unit = 'month' AND interval_count BETWEEN 1 AND 1200),
  CONSTRAINT plans_price CHECK (price BETWEEN 0 AND 999999999.9999),
  CONSTRAINT plans_with_tiers_have_no_price CHECK (type IN ('flat_fee', 'per_unit') OR (price = 0
    AND NOT allows_price_override)),
  CONSTRAINT plans_units CHECK (minimum_units >= 0 AND free_units >= 0 AND (type <> 'flat_fee'
    OR (minimum_units = 0 AND free_units = 0)))
);

CREATE UNIQUE INDEX plans_organisation_id_id_key ON plans (organisation_id, id);

CREATE UNIQUE INDEX plans_organisation_id_code_key ON plans (organisation_id, code);

CREATE UNIQUE INDEX plans_organisation_id_seq_key ON plans (organisation_id, seq);

CREATE TABLE plan_tiers (
  organisation_id UUID NOT NULL,
  plan_id UUID NOT NULL,
  position INTEGER NOT NULL,
  up_to INTEGER,
  unit_price DECIMAL(20,4),
  flat_price DECIMAL(20,4),
  CONSTRAINT plan_tiers_pkey PRIMARY KEY (plan_id, "position"),
  CONSTRAINT plan_tiers_bounds CHECK (position >= 0 AND (up_to IS NULL OR up_to >= 1)),
  CONSTRAINT plan_tiers_prices CHECK (coalesce(unit_price, 0) BETWEEN 0 AND 999999999999999.9999
    AND coalesce(flat_price, 0) BETWEEN 0 AND 999999999999999.9999 AND num_nonnulls(unit_price,
    flat_price) >= 1)
);

CREATE TABLE meters (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  code TEXT NOT NULL,
  name TEXT NOT NULL,
  unit_label TEXT NOT NULL,
  status TEXT NOT NULL,
  revenue_account TEXT,
  tax_type TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT meters_pkey PRIMARY KEY (id),
  CONSTRAINT meters_status CHECK (status IN ('active', 'inactive'))
);

CREATE UNIQUE INDEX meters_organisation_id_id_key ON meters (organisation_id, id);

CREATE UNIQUE INDEX meters_organisation_id_code_key ON meters (organisation_id, code);

CREATE UNIQUE INDEX meters_organisation_id_seq_key ON meters (organisation_id, seq);

CREATE TABLE plan_meters (
  organisation_id UUID NOT NULL,
  plan_id UUID NOT NULL,
  position INTEGER NOT NULL,
  meter_id UUID NOT NULL,
  type TEXT NOT NULL,
  price DECIMAL(20,4) NOT NULL,
  CONSTRAINT plan_meters_pkey PRIMARY KEY (plan_id, "position"),
  CONSTRAINT plan_meters_type CHECK (type IN ('per_unit', 'tiered', 'volume', 'stairstep')),
  CONSTRAINT plan_meters_price CHECK (price BETWEEN 0 AND 999999999.9999),
  -- At most 20 for each plan.
  CONSTRAINT plan_meters_position CHECK (position BETWEEN 0 AND 19)
);

CREATE UNIQUE INDEX plan_meters_organisation_id_plan_id_meter_id_key
  ON plan_meters (organisation_id, plan_id, meter_id);

CREATE TABLE plan_meter_tiers (
  organisation_id UUID NOT NULL,
  plan_id UUID NOT NULL,
  meter_id UUID NOT NULL,
  position INTEGER NOT NULL,
  up_to INTEGER,
  unit_price DECIMAL(20,4),
  flat_price DECIMAL(20,4),
  CONSTRAINT plan_meter_tiers_pkey PRIMARY KEY (plan_id, meter_id, "position"),
  CONSTRAINT plan_meter_tiers_position CHECK (position >= 0),
  CONSTRAINT plan_meter_tiers_up_to CHECK (up_to > 0),
  CONSTRAINT plan_meter_tiers_prices CHECK (unit_price BETWEEN 0 AND 999999999.9999
    AND flat_price BETWEEN 0 AND 999999999.9999
    AND num_nonnulls(unit_price, flat_price) >= 1)
);

CREATE TABLE charges (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  code TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  currency TEXT NOT NULL,
  price DECIMAL(20,4) NOT NULL,
  allows_price_override BOOLEAN NOT NULL DEFAULT false,
  status TEXT NOT NULL,
  revenue_account TEXT,
  tax_type TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT charges_pkey PRIMARY KEY (id),
  CONSTRAINT charges_status CHECK (status IN ('draft', 'active', 'inactive', 'legacy')),
  CONSTRAINT charges_currency CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT charges_price CHECK (price BETWEEN 0 AND 999999999.9999)
);

CREATE UNIQUE INDEX charges_organisation_id_id_key ON charges (organisation_id, id);

CREATE UNIQUE INDEX charges_organisation_id_code_key ON charges (organisation_id, code);

CREATE UNIQUE INDEX charges_organisation_id_seq_key ON charges (organisation_id, seq);

CREATE TABLE subscriptions (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  customer_id UUID NOT NULL,
  plan_id UUID NOT NULL,
  status TEXT NOT NULL,
  currency TEXT NOT NULL,
  interval_unit TEXT NOT NULL,
  interval_count INTEGER NOT NULL,
  timezone TEXT NOT NULL,
  start_date DATE NOT NULL,
  billing_day INTEGER NOT NULL,
  current_period INTEGER NOT NULL DEFAULT 0,
  renewal_date DATE NOT NULL,
  end_date DATE,
  units INTEGER NOT NULL,
  minimum_units INTEGER NOT NULL,
  discount_percent DECIMAL(7,4) NOT NULL,
  price_override DECIMAL(20,4),
  cancel_at_period_end BOOLEAN NOT NULL DEFAULT false,
  end_after_cycles INTEGER,
  label TEXT NOT NULL DEFAULT '',
  invoice_reference TEXT NOT NULL DEFAULT '',
  request_hash BYTEA NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  due_at TIMESTAMPTZ(6),
  parked_attempts INTEGER NOT NULL DEFAULT 0,
  parked_reason TEXT,
  parked_until TIMESTAMPTZ(6),
  ended_at TIMESTAMPTZ(6),
  usage_bill INTEGER NOT NULL DEFAULT 0,
  usage_billed INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT subscriptions_pkey PRIMARY KEY (id),
  CONSTRAINT subscriptions_status CHECK (status IN ('pending', 'active', 'complete', 'ended')),
  CONSTRAINT subscriptions_units CHECK (minimum_units >= 0 AND units >= minimum_units),
  CONSTRAINT subscriptions_discount CHECK (discount_percent BETWEEN 0 AND 100),
  CONSTRAINT subscriptions_billing_day CHECK (billing_day BETWEEN 1 AND 31),
  CONSTRAINT subscriptions_cycles CHECK (end_after_cycles BETWEEN 1 AND 1200),
  CONSTRAINT subscriptions_dates CHECK (start_date < renewal_date AND current_period >= 0),
  CONSTRAINT subscriptions_price_override CHECK (price_override BETWEEN 0 AND 999999999.9999),
  -- A subscription has an end date exactly when something ends it.
  CONSTRAINT subscriptions_end_date CHECK (
    CASE WHEN status IN ('ended', 'complete') THEN end_date IS NOT NULL
         ELSE (end_date IS NOT NULL) = (cancel_at_period_end OR end_after_cycles IS NOT NULL) END),
  CONSTRAINT subscriptions_complete CHECK (status <> 'complete' OR end_date = renewal_date),
  CONSTRAINT subscriptions_ended CHECK (status <> 'ended' OR NOT cancel_at_period_end),
  -- For a subscription that is over, only late usage can be due, or what Setup Mode left unbilled.
  CONSTRAINT subscriptions_due CHECK (status IN ('ended', 'complete') OR due_at IS NOT NULL),
  CONSTRAINT subscriptions_parked CHECK ((parked_until IS NULL) = (parked_reason IS NULL)
    AND parked_attempts >= 0),
  CONSTRAINT subscriptions_ended_at CHECK ((status = 'ended') = (ended_at IS NOT NULL)),
  CONSTRAINT subscriptions_usage CHECK (usage_billed BETWEEN 0 AND usage_bill)
);

CREATE INDEX subscriptions_organisation_id_customer_id_seq_idx ON subscriptions (organisation_id,
  customer_id, seq);

CREATE UNIQUE INDEX subscriptions_organisation_id_id_key ON subscriptions (organisation_id, id);

CREATE UNIQUE INDEX subscriptions_organisation_id_seq_key ON subscriptions (organisation_id, seq);

CREATE UNIQUE INDEX subscriptions_billed_key ON subscriptions (organisation_id, id, customer_id,
  currency);

-- The billing run reads it each minute.
CREATE INDEX subscriptions_due_at ON subscriptions (organisation_id, due_at, id)
  WHERE due_at IS NOT NULL;

-- Parked subscriptions, which are few among all others.
CREATE INDEX subscriptions_parked ON subscriptions (organisation_id, seq)
  WHERE parked_until IS NOT NULL;

CREATE TABLE periods (
  organisation_id UUID NOT NULL,
  subscription_id UUID NOT NULL,
  index INTEGER NOT NULL,
  previous_index INTEGER,
  start_date DATE NOT NULL,
  end_date DATE NOT NULL,
  billed_units INTEGER,
  setup_mode BOOLEAN NOT NULL DEFAULT false,
  billed_separately BOOLEAN NOT NULL DEFAULT false,
  proration_closed BOOLEAN NOT NULL DEFAULT false,
  CONSTRAINT periods_pkey PRIMARY KEY (subscription_id, index),
  CONSTRAINT periods_days CHECK (start_date < end_date),
  CONSTRAINT periods_previous CHECK (index >= 0 AND previous_index IS NOT DISTINCT
    FROM nullif(index, 0) - 1),
  CONSTRAINT periods_billed_units CHECK (billed_units >= 0)
);

CREATE UNIQUE INDEX periods_subscription_id_index_end_date_key ON periods (subscription_id, index,
  end_date);

CREATE TABLE invoices (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  customer_id UUID NOT NULL,
  subscription_id UUID NOT NULL,
  number TEXT NOT NULL,
  reference TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  currency TEXT NOT NULL,
  subtotal DECIMAL(20,4) NOT NULL,
  total DECIMAL(20,4) NOT NULL,
  amount_due DECIMAL(20,4) NOT NULL,
  issue_date DATE NOT NULL,
  due_date DATE,
  period_index INTEGER NOT NULL,
  period_start DATE,
  period_end DATE,
  sent BOOLEAN NOT NULL DEFAULT false,
  ledger_invoice_id TEXT,
  sync_error TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  amending_from JSONB,
  ledger_reported_at TIMESTAMPTZ(6),
  ledger_updated_at TIMESTAMPTZ(6),
  ledger_subtotal DECIMAL(20,4),
  CONSTRAINT invoices_pkey PRIMARY KEY (id),
  CONSTRAINT invoices_type CHECK (type IN ('first', 'renewal', 'change', 'usage')),
  CONSTRAINT invoices_status CHECK (status IN ('draft', 'awaiting_approval', 'approved', 'paid',
    'voided', 'deleted', 'scheduled', 'not_in_external')),
  CONSTRAINT invoices_amounts CHECK (subtotal BETWEEN 0 AND 1999999999999999.9999
    AND total BETWEEN 0 AND 1999999999999999.9999 AND amount_due BETWEEN 0
    AND 1999999999999999.9999),
  CONSTRAINT invoices_period CHECK (num_nonnulls(period_start, period_end) IN (0, 2)
    AND period_start < period_end AND period_index >= 0),
  CONSTRAINT invoices_first_period CHECK (type NOT IN ('first', 'renewal')
    OR ((type = 'first') = (period_index = 0) AND period_start IS NOT NULL)),
  CONSTRAINT invoices_synced CHECK (status IN ('scheduled', 'not_in_external', 'deleted')
    OR ledger_invoice_id IS NOT NULL),
  CONSTRAINT invoices_sync_error CHECK (CASE status WHEN 'not_in_external'
    THEN sync_error IS NOT NULL WHEN 'scheduled' THEN sync_error IS NULL ELSE true END),
  -- All of it is set, or none: an abandoned amendment restores it.
  CONSTRAINT invoices_amending_from CHECK (amending_from IS NULL
    OR jsonb_typeof(amending_from) = 'object'
    AND amending_from ?& ARRAY['units', 'description', 'unit_price', 'amount', 'billed_units'])
);

CREATE INDEX invoices_organisation_id_subscription_id_seq_idx ON invoices (organisation_id,
  subscription_id, seq);

CREATE INDEX invoices_organisation_id_customer_id_seq_idx ON invoices (organisation_id, customer_id,
  seq);

CREATE INDEX invoices_organisation_id_status_seq_idx ON invoices (organisation_id, status, seq);

CREATE UNIQUE INDEX invoices_organisation_id_id_key ON invoices (organisation_id, id);

CREATE UNIQUE INDEX invoices_organisation_id_number_key ON invoices (organisation_id, number);

CREATE UNIQUE INDEX invoices_organisation_id_ledger_invoice_id_key ON invoices (organisation_id,
  ledger_invoice_id);

CREATE UNIQUE INDEX invoices_organisation_id_seq_key ON invoices (organisation_id, seq);

-- INVARIANT-1: one live invoice bills each period of a subscription.
CREATE UNIQUE INDEX invoices_one_for_a_period ON invoices (organisation_id, subscription_id,
  period_index)
  WHERE type IN ('first', 'renewal') AND status NOT IN ('voided', 'deleted');

-- Operators list failed documents with their reasons.
CREATE INDEX invoices_failed ON invoices (organisation_id, seq) WHERE sync_error IS NOT NULL;

CREATE INDEX invoices_drift ON invoices (organisation_id, seq)
  WHERE ledger_subtotal <> subtotal AND status IN ('draft', 'awaiting_approval', 'approved',
    'paid');

CREATE TABLE invoice_lines (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  invoice_id UUID NOT NULL,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  units INTEGER,
  quantity DECIMAL(38,4),
  unit_price DECIMAL(20,4),
  amount DECIMAL(20,4) NOT NULL,
  period_start DATE,
  period_end DATE,
  from_units INTEGER,
  to_units INTEGER,
  days_remaining INTEGER,
  days_in_period INTEGER,
  charge_id UUID,
  revenue_account TEXT,
  tax_type TEXT,
  amending BOOLEAN NOT NULL DEFAULT false,
  ledger_line_id TEXT,
  meter_id UUID,
  CONSTRAINT invoice_lines_pkey PRIMARY KEY (id),
  CONSTRAINT invoice_lines_kind CHECK (kind IN ('plan', 'proration', 'charge', 'usage')),
  CONSTRAINT invoice_lines_amount CHECK (amount BETWEEN 0 AND 999999999999999.9999
    AND unit_price BETWEEN 0 AND 999999999999999.9999
    AND quantity >= 0 AND quantity <> 'NaN'),
  CONSTRAINT invoice_lines_period CHECK (num_nonnulls(period_start, period_end) IN (0, 2)
    AND period_start < period_end),
  CONSTRAINT invoice_lines_proration CHECK (num_nonnulls(from_units, to_units, days_remaining,
    days_in_period) = CASE WHEN kind = 'proration' THEN 4 ELSE 0 END),
  CONSTRAINT invoice_lines_charge CHECK ((kind = 'charge') = (charge_id IS NOT NULL)),
  CONSTRAINT invoice_lines_meter CHECK (kind = 'usage' OR meter_id IS NULL)
);

CREATE UNIQUE INDEX invoice_lines_invoice_id_position_key ON invoice_lines (invoice_id, position);

CREATE UNIQUE INDEX invoice_lines_one_plan ON invoice_lines (invoice_id) WHERE kind = 'plan';

CREATE TABLE credit_notes (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGINT NOT NULL DEFAULT nextval('invoices_seq_seq'::regclass),
  customer_id UUID NOT NULL,
  subscription_id UUID NOT NULL,
  number TEXT NOT NULL,
  reference TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL,
  currency TEXT NOT NULL,
  credit_note_date TIMESTAMPTZ(6) NOT NULL,
  subtotal DECIMAL(20,4) NOT NULL,
  total DECIMAL(20,4) NOT NULL,
  remaining_credit DECIMAL(20,4) NOT NULL,
  sent BOOLEAN NOT NULL DEFAULT false,
  ledger_credit_note_id TEXT,
  sync_error TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  applied_elsewhere DECIMAL(20,4) NOT NULL DEFAULT 0,
  ledger_reported_at TIMESTAMPTZ(6),
  ledger_updated_at TIMESTAMPTZ(6),
  ledger_subtotal DECIMAL(20,4),
  CONSTRAINT credit_notes_pkey PRIMARY KEY (id),
  CONSTRAINT credit_notes_status CHECK (status IN ('draft', 'awaiting_approval', 'approved', 'paid',
    'voided', 'deleted', 'scheduled', 'not_in_external')),
  CONSTRAINT credit_notes_amounts CHECK (subtotal > 0 AND subtotal <= 1999999999999999.9999
    AND total > 0 AND total <= 1999999999999999.9999 AND remaining_credit BETWEEN 0 AND total),
  CONSTRAINT credit_notes_synced CHECK (status IN ('scheduled', 'not_in_external')
    OR ledger_credit_note_id IS NOT NULL),
  CONSTRAINT credit_notes_sync_error
    CHECK ((status = 'not_in_external') = (sync_error IS NOT NULL)),
  -- The ledger may have used credit on an invoice that was created by hand, or as a refund.
  CONSTRAINT credit_notes_applied_elsewhere CHECK (applied_elsewhere BETWEEN 0 AND total)
);

CREATE INDEX credit_notes_organisation_id_subscription_id_seq_idx ON credit_notes (organisation_id,
  subscription_id, seq);

CREATE INDEX credit_notes_organisation_id_customer_id_seq_idx ON credit_notes (organisation_id,
  customer_id, seq);

CREATE UNIQUE INDEX credit_notes_organisation_id_id_key ON credit_notes (organisation_id, id);

CREATE UNIQUE INDEX credit_notes_organisation_id_number_key ON credit_notes (organisation_id,
  number);

CREATE UNIQUE INDEX credit_notes_organisation_id_ledger_credit_note_id_key
  ON credit_notes (organisation_id, ledger_credit_note_id);

CREATE UNIQUE INDEX credit_notes_organisation_id_seq_key ON credit_notes (organisation_id, seq);

-- The credit left on approved notes. It is read whenever an invoice becomes approved.
CREATE INDEX credit_notes_held ON credit_notes (subscription_id, seq) WHERE status = 'approved'
  AND remaining_credit > 0;

CREATE INDEX credit_notes_failed ON credit_notes (organisation_id, seq)
  WHERE sync_error IS NOT NULL;

CREATE INDEX credit_notes_drift ON credit_notes (organisation_id, seq)
  WHERE ledger_subtotal <> subtotal AND status IN ('draft', 'awaiting_approval', 'approved',
    'paid');

CREATE TABLE credit_note_lines (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  credit_note_id UUID NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  amount DECIMAL(20,4) NOT NULL,
  effective_date TIMESTAMPTZ(6) NOT NULL,
  revenue_account TEXT,
  tax_type TEXT,
  meter_id UUID,
  reversed_invoice_id UUID,
  CONSTRAINT credit_note_lines_pkey PRIMARY KEY (id),
  CONSTRAINT credit_note_lines_amount CHECK (amount BETWEEN 0 AND 999999999999999.9999)
);

CREATE UNIQUE INDEX credit_note_lines_credit_note_id_position_key
  ON credit_note_lines (credit_note_id, position);

CREATE TABLE allocations (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  credit_note_id UUID NOT NULL,
  invoice_id UUID NOT NULL,
  amount DECIMAL(20,4) NOT NULL,
  date TIMESTAMPTZ(6) NOT NULL,
  status TEXT NOT NULL,
  sync_status TEXT NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  ledger_allocation_id TEXT,
  CONSTRAINT allocations_pkey PRIMARY KEY (id),
  CONSTRAINT allocations_amount CHECK (amount > 0 AND amount <= 1999999999999999.9999),
  CONSTRAINT allocations_status CHECK (status IN ('active', 'removed')),
  CONSTRAINT allocations_sync_status CHECK (sync_status IN ('synced', 'failed'))
);

CREATE INDEX allocations_credit_note_id_idx ON allocations (credit_note_id);

CREATE INDEX allocations_invoice_id_idx ON allocations (invoice_id);

CREATE UNIQUE INDEX allocations_organisation_id_ledger_allocation_id_key
  ON allocations (organisation_id, ledger_allocation_id);

CREATE TABLE ledger_jobs (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  subscription_id UUID,
  invoice_id UUID,
  customer_id UUID,
  contact_id TEXT,
  awaited_until TIMESTAMPTZ(6),
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  first_sent_at TIMESTAMPTZ(6),
  lease_until TIMESTAMPTZ(6),
  reason TEXT,
  message TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  finished_at TIMESTAMPTZ(6),
  amount DECIMAL(20,4),
  credit_note_id UUID,
  joins BOOLEAN NOT NULL DEFAULT false,
  skip_validation BOOLEAN NOT NULL DEFAULT false,
  key_variant INTEGER NOT NULL DEFAULT 0,
  number_taken INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT ledger_jobs_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_jobs_kind CHECK (kind IN ('create_invoice', 'create_contact', 'import_contact',
    'amend_invoice', 'create_credit_note', 'allocate_credit', 'end_subscription')),
  CONSTRAINT ledger_jobs_state CHECK (state IN ('ready', 'sending', 'uncertain', 'done', 'refused',
    'abandoned')),
  CONSTRAINT ledger_jobs_object CHECK (CASE
    WHEN kind = 'create_invoice' THEN invoice_id IS NOT NULL
    WHEN kind = 'amend_invoice' THEN invoice_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'create_credit_note' THEN credit_note_id IS NOT NULL AND subscription_id IS NOT NULL
    WHEN kind = 'allocate_credit' THEN num_nulls(credit_note_id, invoice_id, subscription_id) = 0
    WHEN kind = 'end_subscription' THEN subscription_id IS NOT NULL
    ELSE customer_id IS NOT NULL END AND (kind = 'import_contact') = (contact_id IS NOT NULL)),
  CONSTRAINT ledger_jobs_finished CHECK ((state IN ('done', 'refused',
    'abandoned')) = (finished_at IS NOT NULL)),
  CONSTRAINT ledger_jobs_sent CHECK (state NOT IN ('sending', 'uncertain')
    OR (first_sent_at IS NOT NULL AND lease_until IS NOT NULL)),
  CONSTRAINT ledger_jobs_refused CHECK (state <> 'refused' OR (reason IS NOT NULL
    AND message IS NOT NULL)),
  CONSTRAINT ledger_jobs_joins CHECK (kind = 'amend_invoice' OR NOT joins),
  CONSTRAINT ledger_jobs_amount CHECK (CASE WHEN kind = 'allocate_credit' THEN amount IS NOT NULL
    AND amount > 0 AND amount <= 1999999999999999.9999 ELSE amount IS NULL END)
) WITH (fillfactor=70);

CREATE INDEX ledger_jobs_organisation_id_seq_idx ON ledger_jobs (organisation_id, seq);

-- Waiting jobs by organisation, for the dispatcher and the posting workflow.
CREATE INDEX ledger_jobs_waiting ON ledger_jobs (organisation_id, not_before, seq)
  WHERE state IN ('ready', 'sending', 'uncertain');

-- One active job of each document.
CREATE UNIQUE INDEX ledger_jobs_one_for_an_invoice ON ledger_jobs (invoice_id, kind)
  WHERE state IN ('ready', 'sending', 'uncertain');

CREATE UNIQUE INDEX ledger_jobs_one_for_a_customer ON ledger_jobs (customer_id, kind)
  WHERE state IN ('ready', 'sending', 'uncertain');

-- The reason of a failed document is that of its last refused job. Refusals are few, so the index
-- costs little.
CREATE INDEX ledger_jobs_refused ON ledger_jobs (invoice_id, seq) WHERE state = 'refused';

CREATE UNIQUE INDEX ledger_jobs_one_for_a_subscription ON ledger_jobs (subscription_id)
  WHERE kind IN ('amend_invoice', 'end_subscription') AND state IN ('ready', 'sending',
    'uncertain');

-- A subscription's credit is applied one step after the other, oldest first.
CREATE UNIQUE INDEX ledger_jobs_one_allocation ON ledger_jobs (subscription_id)
  WHERE kind = 'allocate_credit' AND state IN ('ready', 'sending', 'uncertain');

CREATE UNIQUE INDEX ledger_jobs_one_for_a_credit_note ON ledger_jobs (credit_note_id, kind)
  WHERE state IN ('ready', 'sending', 'uncertain');

CREATE INDEX ledger_jobs_refused_invoices ON ledger_jobs (organisation_id, invoice_id, seq)
  WHERE state = 'refused' AND invoice_id IS NOT NULL;

CREATE INDEX ledger_jobs_refused_credit_notes ON ledger_jobs (organisation_id, credit_note_id,
  seq) WHERE state = 'refused' AND credit_note_id IS NOT NULL;

CREATE TABLE deferred_lines (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  subscription_id UUID NOT NULL,
  period_index INTEGER NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  amount DECIMAL(20,4) NOT NULL,
  period_start DATE NOT NULL,
  period_end DATE NOT NULL,
  from_units INTEGER NOT NULL,
  to_units INTEGER NOT NULL,
  days_remaining INTEGER NOT NULL,
  days_in_period INTEGER NOT NULL,
  invoice_id UUID,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT deferred_lines_pkey PRIMARY KEY (id),
  CONSTRAINT deferred_lines_amount CHECK (amount > 0 AND amount <= 999999999999999.9999),
  CONSTRAINT deferred_lines_days CHECK (days_remaining = period_end - period_start
    AND days_remaining BETWEEN 1 AND days_in_period),
  CONSTRAINT deferred_lines_units CHECK (from_units >= 0 AND to_units > from_units)
);

-- The deferred lines of a subscription that still have to be billed.
CREATE INDEX deferred_lines_waiting ON deferred_lines (subscription_id, seq)
  WHERE invoice_id IS NULL;

-- The deferred lines that a removed invoice had billed.
CREATE INDEX deferred_lines_billed ON deferred_lines (invoice_id) WHERE invoice_id IS NOT NULL;

CREATE TABLE unit_changes (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  request_id UUID,
  subscription_id UUID NOT NULL,
  from_units INTEGER NOT NULL,
  to_units INTEGER NOT NULL,
  invoice_id UUID,
  renewal_invoice_id UUID,
  credit_note_id UUID,
  deferred BOOLEAN NOT NULL,
  job_ids UUID[],
  request_hash BYTEA NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT unit_changes_pkey PRIMARY KEY (id),
  CONSTRAINT unit_changes_units CHECK (from_units >= 0 AND to_units >= 0
    AND from_units <> to_units),
  -- A deferred amount is on no document yet. The amended renewal invoice is not also the issued or
  -- joined one.
  CONSTRAINT unit_changes_deferred CHECK (NOT deferred OR num_nonnulls(invoice_id,
    renewal_invoice_id, credit_note_id) = 0),
  CONSTRAINT unit_changes_invoices CHECK (invoice_id <> renewal_invoice_id),
  CONSTRAINT unit_changes_jobs CHECK (job_ids IS NOT NULL AND array_position(job_ids,
    NULL) IS NULL),
  CONSTRAINT unit_changes_hash_is_sha256 CHECK (octet_length(request_hash) = 32)
);

CREATE INDEX unit_changes_organisation_id_subscription_id_seq_idx ON unit_changes (organisation_id,
  subscription_id, seq);

CREATE INDEX unit_changes_organisation_id_request_id_idx ON unit_changes (organisation_id,
  request_id);

CREATE TABLE operators (
  id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  active BOOLEAN NOT NULL DEFAULT true,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT operators_pkey PRIMARY KEY (id),
  CONSTRAINT operators_role CHECK (role IN ('read-only', 'admin', 'owner'))
);

CREATE UNIQUE INDEX operators_seq_key ON operators (seq);

CREATE TABLE operator_tokens (
  id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  operator_id UUID NOT NULL,
  name TEXT NOT NULL,
  token_hash BYTEA NOT NULL,
  hint TEXT NOT NULL,
  expires_at TIMESTAMPTZ(6),
  revoked_at TIMESTAMPTZ(6),
  last_used_at TIMESTAMPTZ(6),
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT operator_tokens_pkey PRIMARY KEY (id),
  CONSTRAINT operator_tokens_hash_is_sha256 CHECK (octet_length(token_hash) = 32)
);

CREATE UNIQUE INDEX operator_tokens_seq_key ON operator_tokens (seq);

CREATE UNIQUE INDEX operator_tokens_token_hash_key ON operator_tokens (token_hash);

CREATE INDEX operator_tokens_operator_id_seq_idx ON operator_tokens (operator_id, seq);

CREATE TABLE audit_log (
  id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  operator_id UUID,
  operator_name TEXT NOT NULL,
  token_id UUID,
  operation TEXT NOT NULL,
  organisation_id UUID,
  target_kind TEXT NOT NULL,
  target_id UUID NOT NULL,
  before JSONB,
  after JSONB,
  request_id TEXT,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT audit_log_pkey PRIMARY KEY (id),
  CONSTRAINT audit_log_target_kind CHECK (target_kind IN ('organisation', 'ledger_connection',
    'account_mapping', 'api_key', 'plan',
    'charge', 'meter', 'customer', 'subscription', 'document', 'operator', 'operator_token',
      'usage_event', 'webhook_endpoint',
    'webhook_delivery')),
  CONSTRAINT audit_log_has_a_change CHECK (num_nonnulls(before, after) >= 1),
  CONSTRAINT audit_log_operator_has_token CHECK (operator_id IS NULL OR (token_id IS NOT NULL
    AND request_id IS NOT NULL))
);

CREATE UNIQUE INDEX audit_log_seq_key ON audit_log (seq);

CREATE INDEX audit_log_organisation_id_seq_idx ON audit_log (organisation_id, seq);

CREATE INDEX audit_log_operator_id_seq_idx ON audit_log (operator_id, seq);

CREATE INDEX audit_log_target_id_seq_idx ON audit_log (target_id, seq);

CREATE TABLE terminations (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  subscription_id UUID NOT NULL,
  end_when TEXT NOT NULL,
  ended BOOLEAN NOT NULL DEFAULT false,
  request_id UUID,
  request_hash BYTEA NOT NULL,
  reported BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT terminations_pkey PRIMARY KEY (id),
  CONSTRAINT terminations_when CHECK (end_when IN ('now', 'period_end')),
  CONSTRAINT terminations_hash_is_sha256 CHECK (octet_length(request_hash) = 32)
);

CREATE INDEX terminations_organisation_id_subscription_id_seq_idx ON terminations (organisation_id,
  subscription_id, seq);

CREATE INDEX terminations_organisation_id_request_id_idx ON terminations (organisation_id,
  request_id);

CREATE UNIQUE INDEX terminations_organisation_id_id_key ON terminations (organisation_id, id);

CREATE TABLE removals (
  organisation_id UUID NOT NULL,
  termination_id UUID NOT NULL,
  step INTEGER NOT NULL,
  invoice_id UUID NOT NULL,
  state TEXT NOT NULL,
  outcome TEXT,
  reason TEXT,
  message TEXT,
  finished_at TIMESTAMPTZ(6),
  reissued BOOLEAN NOT NULL DEFAULT false,
  only_unsent BOOLEAN NOT NULL DEFAULT false,
  CONSTRAINT removals_pkey PRIMARY KEY (termination_id, step),
  CONSTRAINT removals_step CHECK (step >= 0),
  CONSTRAINT removals_state CHECK (state IN ('waiting', 'removed', 'refused', 'left')),
  CONSTRAINT removals_outcome CHECK ((state = 'removed') = (outcome IS NOT NULL)
    AND outcome IN ('deleted', 'voided', 'already_removed', 'not_found', 'never_sent')),
  CONSTRAINT removals_reissued CHECK (state = 'removed' OR NOT reissued),
  CONSTRAINT removals_refused CHECK ((state = 'refused') = (message IS NOT NULL)
    AND (state = 'waiting') = (finished_at IS NULL))
);

CREATE INDEX removals_invoice_id_idx ON removals (invoice_id);

CREATE TABLE restorations (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  subscription_id UUID NOT NULL,
  request_id UUID,
  request_hash BYTEA NOT NULL,
  job_ids UUID[],
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT restorations_pkey PRIMARY KEY (id),
  CONSTRAINT restorations_hash_is_sha256 CHECK (octet_length(request_hash) = 32)
);

CREATE INDEX restorations_organisation_id_subscription_id_seq_idx ON restorations (organisation_id,
  subscription_id, seq);

CREATE INDEX restorations_organisation_id_request_id_idx ON restorations (organisation_id,
  request_id);

CREATE TABLE usage_events (
  organisation_id UUID NOT NULL,
  event_id TEXT NOT NULL,
  subscription_id UUID NOT NULL,
  meter_id UUID NOT NULL,
  period_index INTEGER NOT NULL,
  bill INTEGER NOT NULL,
  quantity DECIMAL(24,4) NOT NULL,
  occurred_at TIMESTAMPTZ(6) NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  voided_at TIMESTAMPTZ(6),
  void_reason TEXT,
  CONSTRAINT usage_events_pkey PRIMARY KEY (organisation_id, event_id),
  CONSTRAINT usage_events_id_length CHECK (char_length(event_id) BETWEEN 1 AND 255),
  CONSTRAINT usage_events_quantity CHECK (quantity > 0 AND quantity <> 'NaN'),
  CONSTRAINT usage_events_bill CHECK (period_index >= 0 AND bill >= 0),
  CONSTRAINT usage_events_voided CHECK ((voided_at IS NULL) = (void_reason IS NULL))
) PARTITION BY HASH (organisation_id, event_id);

-- The sums of a bill are read from the index alone.
CREATE INDEX usage_events_billed ON usage_events (subscription_id, bill, period_index,
  meter_id) INCLUDE (quantity)
  WHERE voided_at IS NULL;

CREATE TABLE usage_bills (
  organisation_id UUID NOT NULL,
  subscription_id UUID NOT NULL,
  bill INTEGER NOT NULL,
  period_index INTEGER NOT NULL,
  meter_id UUID NOT NULL,
  events BIGINT NOT NULL,
  quantity DECIMAL(38,4) NOT NULL,
  priced DECIMAL(38,4) NOT NULL,
  amount DECIMAL(20,4) NOT NULL,
  invoice_id UUID,
  credit_note_id UUID,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT usage_bills_pkey PRIMARY KEY (subscription_id, period_index, meter_id, bill),
  CONSTRAINT usage_bills_numbers CHECK (bill >= 0 AND period_index >= 0 AND events > 0),
  CONSTRAINT usage_bills_quantities CHECK (quantity > 0 AND priced >= 0 AND quantity <> 'NaN'
    AND priced <> 'NaN'),
  -- An amount on an invoice is above zero, one on a credit note below.
  CONSTRAINT usage_bills_document CHECK (CASE WHEN amount > 0 THEN invoice_id IS NOT NULL
    AND credit_note_id IS NULL
    WHEN amount < 0 THEN credit_note_id IS NOT NULL AND invoice_id IS NULL
      ELSE credit_note_id IS NULL END)
);

CREATE INDEX usage_bills_organisation_id_invoice_id_idx ON usage_bills (organisation_id,
  invoice_id);

CREATE TABLE outbox (
  seq BIGSERIAL NOT NULL,
  organisation_id UUID NOT NULL,
  object_kind TEXT NOT NULL,
  object_id UUID NOT NULL,
  change TEXT NOT NULL,
  recorded_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT outbox_pkey PRIMARY KEY (organisation_id, seq),
  CONSTRAINT outbox_kind CHECK (object_kind IN ('customer', 'subscription', 'invoice',
    'credit_note')),
  CONSTRAINT outbox_change CHECK (change IN ('created', 'updated', 'ended', 'paid', 'voided',
    'deleted'))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=5000);

CREATE INDEX outbox_organisation_id_object_kind_object_id_idx ON outbox (organisation_id,
  object_kind, object_id);

CREATE TABLE published_snapshots (
  organisation_id UUID NOT NULL,
  object_kind TEXT NOT NULL,
  object_id UUID NOT NULL,
  sequence BIGINT NOT NULL DEFAULT 0,
  object TEXT NOT NULL,
  CONSTRAINT published_snapshots_pkey PRIMARY KEY (organisation_id, object_kind, object_id),
  CONSTRAINT published_snapshots_kind CHECK (object_kind IN ('customer', 'subscription', 'invoice',
    'credit_note')),
  CONSTRAINT published_snapshots_sequence CHECK (sequence >= 0)
);

CREATE TABLE events (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  type TEXT NOT NULL,
  object_kind TEXT NOT NULL,
  object_id UUID NOT NULL,
  sequence BIGINT NOT NULL,
  body TEXT NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT events_pkey PRIMARY KEY (id),
  CONSTRAINT events_sequence CHECK (sequence > 0),
  CONSTRAINT events_body CHECK (length(body) > 0)
);

CREATE UNIQUE INDEX events_organisation_id_id_key ON events (organisation_id, id);

CREATE UNIQUE INDEX events_organisation_id_seq_key ON events (organisation_id, seq);

CREATE UNIQUE INDEX events_sequence_key ON events (organisation_id, object_kind, object_id,
  sequence);

CREATE INDEX events_created_at_idx ON events (created_at);

CREATE TABLE webhook_endpoints (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  url TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  kinds TEXT[],
  status TEXT NOT NULL DEFAULT 'enabled',
  disabled_reason TEXT,
  disabled_at TIMESTAMPTZ(6),
  encrypted_secret BYTEA NOT NULL,
  encryption_key_id TEXT NOT NULL,
  encrypted_previous BYTEA,
  previous_key_id TEXT,
  previous_until TIMESTAMPTZ(6),
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since TIMESTAMPTZ(6),
  open_until TIMESTAMPTZ(6),
  succeeded_at TIMESTAMPTZ(6),
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_endpoints_url CHECK (length(url) BETWEEN 1 AND 2048),
  CONSTRAINT webhook_endpoints_kinds CHECK (kinds IS NOT NULL),
  CONSTRAINT webhook_endpoints_status CHECK (status IN ('enabled', 'disabled')),
  CONSTRAINT webhook_endpoints_disabled CHECK ((status = 'disabled') = (disabled_at IS NOT NULL)
    AND (status = 'disabled') = (disabled_reason IS NOT NULL)),
  CONSTRAINT webhook_endpoints_previous CHECK (num_nonnulls(encrypted_previous, previous_key_id,
    previous_until) IN (0, 3)),
  CONSTRAINT webhook_endpoints_failures CHECK (failures >= 0
    AND (failures > 0) = (failing_since IS NOT NULL)
    AND (open_until IS NULL OR failures > 0))
) WITH (fillfactor=50);

CREATE UNIQUE INDEX webhook_endpoints_organisation_id_id_key ON webhook_endpoints (organisation_id,
  id);

CREATE UNIQUE INDEX webhook_endpoints_organisation_id_seq_key ON webhook_endpoints (organisation_id,
  seq);

CREATE TABLE webhook_deliveries (
  id UUID NOT NULL,
  organisation_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  event_id UUID NOT NULL,
  endpoint_id UUID NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  began_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  due_at TIMESTAMPTZ(6) DEFAULT CURRENT_TIMESTAMP,
  last_status INTEGER,
  last_error TEXT,
  finished_at TIMESTAMPTZ(6),
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_deliveries_state CHECK (state IN ('pending', 'delivered', 'exhausted',
    'cancelled')),
  CONSTRAINT webhook_deliveries_attempts CHECK (attempts >= 0),
  -- A pending delivery has an owner or a time. A finished one is never started again.
  CONSTRAINT webhook_deliveries_finished CHECK ((state = 'pending') = (due_at IS NOT NULL)
    AND (state = 'pending') = (finished_at IS NULL))
);

CREATE INDEX webhook_deliveries_endpoint_id_seq_idx ON webhook_deliveries (endpoint_id, seq);

CREATE UNIQUE INDEX webhook_deliveries_organisation_id_id_key
  ON webhook_deliveries (organisation_id, id);

CREATE UNIQUE INDEX webhook_deliveries_organisation_id_seq_key
  ON webhook_deliveries (organisation_id, seq);

CREATE UNIQUE INDEX webhook_deliveries_event_id_endpoint_id_key ON webhook_deliveries (event_id,
  endpoint_id);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at)
  WHERE state = 'pending';

-- Failed deliveries are rare. The index holds them alone: a delivery that succeeds leaves it.
CREATE INDEX webhook_deliveries_not_delivered ON webhook_deliveries (organisation_id, state,
  seq) WHERE state <> 'delivered';

CREATE TABLE webhook_attempts (
  organisation_id UUID NOT NULL,
  delivery_id UUID NOT NULL,
  number INTEGER NOT NULL,
  at TIMESTAMPTZ(6) NOT NULL,
  latency_ms INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  answer TEXT,
  CONSTRAINT webhook_attempts_pkey PRIMARY KEY (delivery_id, number),
  CONSTRAINT webhook_attempts_number CHECK (number > 0),
  CONSTRAINT webhook_attempts_latency CHECK (latency_ms >= 0),
  CONSTRAINT webhook_attempts_answer CHECK (length(answer) <= 1024)
);

-- References. Those between tables of one organisation are over (organisation_id, id).

ALTER TABLE clock_advances
  ADD CONSTRAINT clock_advances_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE api_keys
  ADD CONSTRAINT api_keys_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE idempotency_keys
  ADD CONSTRAINT idempotency_keys_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT idempotency_keys_api_key_fkey FOREIGN KEY (organisation_id, api_key_id)
    REFERENCES api_keys(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_connections
  ADD CONSTRAINT ledger_connections_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_authorisations
  ADD CONSTRAINT ledger_authorisations_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES ledger_connections(organisation_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_consents
  ADD CONSTRAINT ledger_consents_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT ledger_consents_operator_id_fkey FOREIGN KEY (operator_id)
    REFERENCES operators(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_budgets
  ADD CONSTRAINT ledger_budgets_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_reference_data
  ADD CONSTRAINT ledger_reference_data_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_sync_cursors
  ADD CONSTRAINT ledger_sync_cursors_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_notifications
  ADD CONSTRAINT ledger_notifications_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE document_counters
  ADD CONSTRAINT document_counters_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE customers
  ADD CONSTRAINT customers_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE plans
  ADD CONSTRAINT plans_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE plan_tiers
  ADD CONSTRAINT plan_tiers_organisation_id_plan_id_fkey FOREIGN KEY (organisation_id,
    plan_id) REFERENCES plans(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE meters
  ADD CONSTRAINT meters_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE plan_meters
  ADD CONSTRAINT plan_meters_organisation_id_plan_id_fkey FOREIGN KEY (organisation_id,
    plan_id) REFERENCES plans(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT plan_meters_organisation_id_meter_id_fkey FOREIGN KEY (organisation_id,
    meter_id) REFERENCES meters(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE plan_meter_tiers
  ADD CONSTRAINT plan_meter_tiers_organisation_id_plan_id_meter_id_fkey
    FOREIGN KEY (organisation_id, plan_id, meter_id)
    REFERENCES plan_meters(organisation_id, plan_id, meter_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE charges
  ADD CONSTRAINT charges_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE subscriptions
  ADD CONSTRAINT subscriptions_organisation_id_customer_id_fkey FOREIGN KEY (organisation_id,
    customer_id) REFERENCES customers(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT subscriptions_organisation_id_plan_id_fkey FOREIGN KEY (organisation_id,
    plan_id) REFERENCES plans(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE periods
  ADD CONSTRAINT periods_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT periods_subscription_id_previous_index_start_date_fkey
    FOREIGN KEY (subscription_id, previous_index, start_date)
    REFERENCES periods(subscription_id, index, end_date) ON DELETE RESTRICT;

ALTER TABLE invoices
  ADD CONSTRAINT invoices_subscription_fkey FOREIGN KEY (organisation_id, subscription_id,
    customer_id, currency) REFERENCES subscriptions(organisation_id, id, customer_id, currency)
    ON DELETE RESTRICT,
  ADD CONSTRAINT invoices_period_fkey FOREIGN KEY (subscription_id, period_index)
    REFERENCES periods(subscription_id, index) ON DELETE RESTRICT;

ALTER TABLE invoice_lines
  ADD CONSTRAINT invoice_lines_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT invoice_lines_organisation_id_charge_id_fkey FOREIGN KEY (organisation_id,
    charge_id) REFERENCES charges(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT invoice_lines_organisation_id_meter_id_fkey FOREIGN KEY (organisation_id,
    meter_id) REFERENCES meters(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE credit_notes
  ADD CONSTRAINT credit_notes_subscription_fkey FOREIGN KEY (organisation_id, subscription_id,
    customer_id, currency) REFERENCES subscriptions(organisation_id, id, customer_id, currency)
    ON DELETE RESTRICT;

ALTER TABLE credit_note_lines
  ADD CONSTRAINT credit_note_lines_organisation_id_credit_note_id_fkey FOREIGN KEY (organisation_id,
    credit_note_id) REFERENCES credit_notes(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT credit_note_lines_organisation_id_meter_id_fkey FOREIGN KEY (organisation_id,
    meter_id) REFERENCES meters(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT credit_note_lines_organisation_id_reversed_invoice_id_fkey
    FOREIGN KEY (organisation_id, reversed_invoice_id)
    REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE allocations
  ADD CONSTRAINT allocations_organisation_id_credit_note_id_fkey FOREIGN KEY (organisation_id,
    credit_note_id) REFERENCES credit_notes(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT allocations_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_jobs
  ADD CONSTRAINT ledger_jobs_subscription_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT ledger_jobs_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT ledger_jobs_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT ledger_jobs_organisation_id_credit_note_id_fkey FOREIGN KEY (organisation_id,
    credit_note_id) REFERENCES credit_notes(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;

ALTER TABLE deferred_lines
  ADD CONSTRAINT deferred_lines_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT deferred_lines_period_fkey FOREIGN KEY (subscription_id, period_index,
    period_end) REFERENCES periods(subscription_id, index, end_date) ON DELETE RESTRICT,
  ADD CONSTRAINT deferred_lines_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE unit_changes
  ADD CONSTRAINT unit_changes_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT unit_changes_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT unit_changes_organisation_id_renewal_invoice_id_fkey FOREIGN KEY (organisation_id,
    renewal_invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT unit_changes_organisation_id_credit_note_id_fkey FOREIGN KEY (organisation_id,
    credit_note_id) REFERENCES credit_notes(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;

ALTER TABLE operator_tokens
  ADD CONSTRAINT operator_tokens_operator_id_fkey FOREIGN KEY (operator_id)
    REFERENCES operators(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE audit_log
  ADD CONSTRAINT audit_log_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id)
    ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT audit_log_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE terminations
  ADD CONSTRAINT terminations_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;

ALTER TABLE removals
  ADD CONSTRAINT removals_organisation_id_termination_id_fkey FOREIGN KEY (organisation_id,
    termination_id) REFERENCES terminations(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT removals_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE restorations
  ADD CONSTRAINT restorations_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;

ALTER TABLE usage_bills
  ADD CONSTRAINT usage_bills_organisation_id_subscription_id_fkey FOREIGN KEY (organisation_id,
    subscription_id) REFERENCES subscriptions(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT,
  ADD CONSTRAINT usage_bills_organisation_id_meter_id_fkey FOREIGN KEY (organisation_id,
    meter_id) REFERENCES meters(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT usage_bills_organisation_id_invoice_id_fkey FOREIGN KEY (organisation_id,
    invoice_id) REFERENCES invoices(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT usage_bills_organisation_id_credit_note_id_fkey FOREIGN KEY (organisation_id,
    credit_note_id) REFERENCES credit_notes(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;

ALTER TABLE published_snapshots
  ADD CONSTRAINT published_snapshots_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE events
  ADD CONSTRAINT events_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE webhook_endpoints
  ADD CONSTRAINT webhook_endpoints_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE webhook_deliveries
  ADD CONSTRAINT webhook_deliveries_organisation_id_event_id_fkey FOREIGN KEY (organisation_id,
    event_id) REFERENCES events(organisation_id, id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT webhook_deliveries_organisation_id_endpoint_id_fkey FOREIGN KEY (organisation_id,
    endpoint_id) REFERENCES webhook_endpoints(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;

ALTER TABLE webhook_attempts
  ADD CONSTRAINT webhook_attempts_organisation_id_delivery_id_fkey FOREIGN KEY (organisation_id,
    delivery_id) REFERENCES webhook_deliveries(organisation_id, id) ON UPDATE CASCADE
    ON DELETE RESTRICT;


-- The partitions of the usage events.
DO $$ BEGIN
  FOR part IN 0..15 LOOP
    -- An insert touches all partitions. Frequent vacuum keeps their visibility maps, so that sums
    -- are read from the index alone.
    EXECUTE format('CREATE TABLE usage_events_%s PARTITION OF usage_events '
      'FOR VALUES WITH (MODULUS 16, REMAINDER %s)
      WITH (autovacuum_vacuum_insert_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05)', part, part);
  END LOOP;
END $$;

-- Rules that span several rows. They are checked at the end of the transaction, when all rows are
-- written. Each refusal carries the name of its trigger as that of a constraint.
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
      AND i.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l
        WHERE l.organisation_id = i.organisation_id AND l.invoice_id = i.id)
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
  -- A line that moved leaves another invoice behind.
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.invoice_id <> NEW.invoice_id) THEN
    PERFORM require_invoice_subtotal(OLD.invoice_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER invoices_subtotal AFTER INSERT OR UPDATE OF subtotal ON invoices
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice();

CREATE CONSTRAINT TRIGGER invoice_lines_subtotal AFTER INSERT OR UPDATE OR DELETE ON invoice_lines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_line();

-- A credit note's subtotal is the sum of its lines.
CREATE FUNCTION require_credit_note_subtotal(wanted uuid, rule text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted
      AND n.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM credit_note_lines l
        WHERE l.organisation_id = n.organisation_id AND l.credit_note_id = n.id)
  ) THEN
    PERFORM refuse(rule, format('the subtotal of credit note %s is not the sum of its lines',
      wanted));
  END IF;
END $$;

CREATE FUNCTION check_credit_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_note_subtotal(NEW.id, TG_NAME);
  RETURN NULL;
END $$;

CREATE FUNCTION check_credit_note_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_credit_note_subtotal(NEW.credit_note_id,
    TG_NAME); END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.credit_note_id <> NEW.credit_note_id) THEN
    PERFORM require_credit_note_subtotal(OLD.credit_note_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER credit_notes_subtotal AFTER INSERT OR UPDATE OF subtotal ON credit_notes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_note();

CREATE CONSTRAINT TRIGGER credit_note_lines_subtotal AFTER INSERT OR UPDATE OR DELETE
  ON credit_note_lines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_note_line();

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

CREATE CONSTRAINT TRIGGER allocations_credit AFTER INSERT OR UPDATE OR DELETE ON allocations
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_of_allocation();

-- The credit applied to an invoice never exceeds its total. The row is locked: two transactions
-- that each see only their own credit could exceed it together.
CREATE FUNCTION require_credit_within_invoice(wanted uuid, rule text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM invoices WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM invoices i
    WHERE i.id = wanted AND i.total < (SELECT sum(a.amount) FROM allocations a
      WHERE a.invoice_id = i.id AND a.status = 'active')
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

CREATE CONSTRAINT TRIGGER invoices_credit AFTER UPDATE OF total ON invoices
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.total < OLD.total)
    EXECUTE FUNCTION check_credit_of_invoice();

CREATE CONSTRAINT TRIGGER allocations_within_invoice AFTER INSERT OR UPDATE ON allocations
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_invoice_of_allocation();

-- Credit is applied to an invoice of the same customer and currency.
CREATE FUNCTION check_allocation_party() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM allocations a
      JOIN credit_notes n ON n.organisation_id = a.organisation_id AND n.id = a.credit_note_id
      JOIN invoices i ON i.organisation_id = a.organisation_id AND i.id = a.invoice_id
    WHERE CASE TG_TABLE_NAME WHEN 'allocations' THEN a.id WHEN 'invoices' THEN a.invoice_id
      ELSE a.credit_note_id END = NEW.id
      AND (n.customer_id, n.currency) <> (i.customer_id, i.currency)
  ) THEN
    PERFORM refuse(TG_NAME, format('credit of another customer or currency is applied: %s %s',
      TG_TABLE_NAME, NEW.id));
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER allocations_party AFTER INSERT OR UPDATE OF credit_note_id, invoice_id
  ON allocations
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_allocation_party();

CREATE CONSTRAINT TRIGGER invoices_party AFTER UPDATE OF customer_id, currency ON invoices
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_allocation_party();

CREATE CONSTRAINT TRIGGER credit_notes_party AFTER UPDATE OF customer_id, currency ON credit_notes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_allocation_party();

-- A subscription's first period starts on its start date.
CREATE FUNCTION require_first_period(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM periods p JOIN subscriptions s ON s.organisation_id = p.organisation_id
      AND s.id = p.subscription_id
    WHERE p.subscription_id = wanted AND p.index = 0 AND p.start_date <> s.start_date
  ) THEN
    PERFORM refuse(rule,
      format('the first period of subscription %s does not start on its start date', wanted));
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

CREATE CONSTRAINT TRIGGER periods_first AFTER INSERT OR UPDATE OF index, subscription_id,
  start_date ON periods
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.index = 0)
    EXECUTE FUNCTION check_first_period();

CREATE CONSTRAINT TRIGGER subscriptions_first_period AFTER UPDATE OF start_date ON subscriptions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_start_date();

-- These functions admit requests and store idempotency keys. Each is one round trip and uses the
-- database's clock. This one admits a request for each hash, in the given order, and returns a row
-- for each valid key. An unknown, revoked or expired key has no row. A key's window holds the times
-- of its counted requests of the last 60 seconds, at most `allowed` of them. Its row lock makes the
-- count exact over all processes. Keys are locked in the order of their ids, so that two batches
-- never deadlock.
CREATE FUNCTION admit_api_keys(hashes bytea[], allowed integer)
RETURNS TABLE (
  ordinal integer, api_key_id uuid, organisation_id uuid, scopes text[], livemode boolean,
    can_create_ledger_contacts boolean,
  usage_allowed boolean, organisation_now timestamptz, counted boolean, remaining integer,
    reset_seconds integer
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  requested record;
  window_hits timestamptz[];
  instant timestamptz;
  free integer;
  granted integer;
  place integer;
BEGIN
  FOR requested IN
    SELECT k.id, k.organisation_id AS owner_id, k.scopes AS owned_scopes, k.last_used_at,
      o.livemode AS is_live,
      o.can_create_ledger_contacts AS may_create, o.usage_allowed AS may_use, o.test_clock,
      array_agg(h.place::integer ORDER BY h.place) AS places
    FROM unnest(hashes) WITH ORDINALITY AS h (hash, place)
    JOIN api_keys k ON k.key_hash = h.hash
    JOIN organisations o ON o.id = k.organisation_id
    WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
    GROUP BY k.id, o.id
    ORDER BY k.id
  LOOP
    SELECT w.hits INTO window_hits FROM rate_windows w WHERE w.api_key_id = requested.id FOR UPDATE;
    IF NOT FOUND THEN
      INSERT INTO rate_windows (api_key_id, hits) VALUES (requested.id, '{}')
        ON CONFLICT DO NOTHING;
      SELECT w.hits INTO window_hits FROM rate_windows w
        WHERE w.api_key_id = requested.id FOR UPDATE;
    END IF;
    -- Read after the lock, so that the times of a window only rise.
    instant := clock_timestamp();
    -- If the clock was set back by more than a window, its keys would be locked out until the clock
    -- has caught up.
    IF window_hits[cardinality(window_hits)] > instant + interval '60 seconds' THEN
      window_hits := '{}';
    END IF;
    instant := greatest(instant, window_hits[cardinality(window_hits)]);
    IF window_hits[1] <= instant - interval '60 seconds' THEN
      window_hits := window_hits[width_bucket(instant - interval '60 seconds', window_hits) + 1 :];
    END IF;
    free := greatest(allowed - cardinality(window_hits), 0);
    granted := least(free, cardinality(requested.places));
    IF granted > 0 THEN
      window_hits := window_hits || array_fill(instant, ARRAY[granted]);
      UPDATE rate_windows w SET hits = window_hits WHERE w.api_key_id = requested.id;
      IF requested.last_used_at IS NULL
        OR requested.last_used_at < instant - interval '1 minute' THEN
        -- People read it only, so it need not wait for the disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE api_keys k SET last_used_at = instant
        WHERE k.id = requested.id AND (k.last_used_at IS NULL
          OR k.last_used_at < instant - interval '1 minute');
      END IF;
    END IF;
    FOR place IN 1 .. cardinality(requested.places) LOOP
      ordinal := requested.places[place];
      api_key_id := requested.id;
      organisation_id := requested.owner_id;
      scopes := requested.owned_scopes;
      livemode := requested.is_live;
      can_create_ledger_contacts := requested.may_create;
      usage_allowed := requested.may_use;
      organisation_now := coalesce(requested.test_clock, instant);
      counted := place <= granted;
      remaining := greatest(free - place, 0);
      reset_seconds := greatest(ceil(extract(epoch
        FROM window_hits[1] + interval '60 seconds' - instant)), 1);
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;

-- Claims an idempotency key for one run of a request, or says why not: `replay` (with the stored
-- response), `conflict` (another request holds the key), `running`. A key is free if its 24 hours
-- are over or its run's lease has expired, because that process is gone. The commit need not wait
-- for the disk: the run's own durable commit carries this row with it.
CREATE FUNCTION begin_idempotent_request(
  the_api_key uuid, the_key text, the_organisation uuid, the_operation text, the_path text,
    the_fingerprint bytea, the_owner uuid,
  lease interval, lifetime interval
) RETURNS TABLE (outcome text, response bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  held idempotency_keys%ROWTYPE;
  instant timestamptz := clock_timestamp();
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO idempotency_keys AS i
    (api_key_id, key, organisation_id, operation, path, fingerprint, state, owner, lease_until,
      response, created_at, expires_at)
  VALUES (the_api_key, the_key, the_organisation, the_operation, the_path, the_fingerprint,
    'running', the_owner,
    instant + lease, NULL, instant, instant + lifetime)
  ON CONFLICT (api_key_id, key) DO UPDATE SET
    organisation_id = excluded.organisation_id, operation = excluded.operation,
      path = excluded.path, fingerprint = excluded.fingerprint,
    state = 'running', owner = excluded.owner, lease_until = clock_timestamp() + lease,
      response = NULL, created_at = clock_timestamp(),
    expires_at = clock_timestamp() + lifetime
  WHERE i.expires_at <= clock_timestamp() OR (i.state = 'running'
    AND i.lease_until <= clock_timestamp());
  IF FOUND THEN
    RETURN QUERY SELECT 'begun', NULL::bytea;
    RETURN;
  END IF;
  -- The conflict has locked the row, so it exists and stays unchanged.
  SELECT * INTO STRICT held FROM idempotency_keys i WHERE i.api_key_id = the_api_key
    AND i.key = the_key;
  IF held.fingerprint <> the_fingerprint THEN
    RETURN QUERY SELECT 'conflict', NULL::bytea;
  ELSIF held.state = 'done' THEN
    RETURN QUERY SELECT 'replay', held.response;
  ELSE
    RETURN QUERY SELECT 'running', NULL::bytea;
  END IF;
END $$;

-- Stores the response of a run that succeeded. Returns NULL, or the response of another run that
-- was first because this run's lease had expired.
CREATE FUNCTION complete_idempotent_request(
  the_api_key uuid, the_key text, the_owner uuid, the_fingerprint bytea, the_response bytea
) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys i SET state = 'done', response = the_response
  WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.owner = the_owner
    AND i.state = 'running';
  IF FOUND THEN
    RETURN NULL;
  END IF;
  RETURN (
    SELECT i.response FROM idempotency_keys i
    WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.state = 'done'
      AND i.fingerprint = the_fingerprint
  );
END $$;

-- Frees the key of a run that failed. If the release is lost, the lease expires.
CREATE FUNCTION release_idempotent_request(the_api_key uuid, the_key text, the_owner uuid)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM idempotency_keys i
  WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.owner = the_owner
    AND i.state = 'running';
END $$;

-- Renews the leases of one process's runs.
CREATE FUNCTION renew_idempotent_requests(the_api_keys uuid[], the_keys text[], the_owners uuid[],
  lease interval)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE idempotency_keys i SET lease_until = clock_timestamp() + lease
  FROM unnest(the_api_keys, the_keys, the_owners) AS run (api_key_id, key, owner)
  WHERE i.api_key_id = run.api_key_id AND i.key = run.key AND i.owner = run.owner
    AND i.state = 'running';
END $$;

-- Deletes up to `at_most` keys whose 24 hours are over, and returns how many. Locked rows are left
-- for the next call.
CREATE FUNCTION delete_expired_idempotency_keys(at_most integer) RETURNS integer
  LANGUAGE plpgsql AS $$
DECLARE
  deleted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- Selected once: in a plain subquery the planner may run it again for each row, and the limit
  -- would limit nothing.
  WITH picked AS MATERIALIZED (
    SELECT api_key_id, key FROM idempotency_keys WHERE expires_at <= clock_timestamp()
      ORDER BY expires_at LIMIT at_most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM idempotency_keys i USING picked WHERE i.api_key_id = picked.api_key_id
    AND i.key = picked.key;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;

-- Nothing updates or deletes an entry of the audit log, whichever role asks. Only an owner of the
-- schema can remove this rule.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'check_violation',
    CONSTRAINT = TG_NAME;
END $$;

CREATE TRIGGER audit_log_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- Admits an operator by the SHA-256 of the token. Returns no row for an unknown, revoked or expired
-- token, or if the operator is not active.
CREATE FUNCTION admit_operator(the_hash bytea)
RETURNS TABLE (token_id uuid, operator_id uuid, operator_name text, operator_role text)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  admitted record;
BEGIN
  SELECT t.id, t.last_used_at, o.id AS owner_id, o.name, o.role INTO admitted
  FROM operator_tokens t JOIN operators o ON o.id = t.operator_id
  WHERE t.token_hash = the_hash AND t.revoked_at IS NULL AND (t.expires_at IS NULL
    OR t.expires_at > clock_timestamp()) AND o.active;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF admitted.last_used_at IS NULL
    OR admitted.last_used_at < clock_timestamp() - interval '1 minute' THEN
    -- People read it only, so it need not wait for the disk.
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE operator_tokens t SET last_used_at = clock_timestamp()
    WHERE t.id = admitted.id AND (t.last_used_at IS NULL
      OR t.last_used_at < clock_timestamp() - interval '1 minute');
  END IF;
  RETURN QUERY SELECT admitted.id, admitted.owner_id, admitted.name, admitted.role;
END $$;

-- No credit is lost or created: what is left of a credit note and what is applied of it are its
-- total. The row is locked, so that of two transactions that apply it at once the later one sees
-- what the earlier one applied.
CREATE FUNCTION require_credit_held(wanted uuid, rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM credit_notes WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted AND n.total <> n.remaining_credit + n.applied_elsewhere
      + (SELECT coalesce(sum(a.amount), 0) FROM allocations a WHERE a.credit_note_id = n.id
        AND a.status = 'active')
  ) THEN
    PERFORM refuse(rule,
      format('the total of credit note %s is not what is left and what is applied of it', wanted));
  END IF;
END $$;

CREATE CONSTRAINT TRIGGER credit_notes_credit AFTER INSERT OR UPDATE OF total, remaining_credit,
  applied_elsewhere ON credit_notes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_credit_of_note();

-- A row of a subscription that names a document names one of that subscription. Triggers check only
-- the rows that name one: a foreign key would need one more unique index on every invoice and
-- credit note. New invoices are exempt, because each is written in one statement with its job.
CREATE FUNCTION is_of_subscription(organisation uuid, subscription uuid, invoice_ids uuid[],
  note_id uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (SELECT 1 FROM invoices i WHERE i.organisation_id = organisation
    AND i.id = ANY (invoice_ids) AND i.subscription_id <> subscription)
    AND NOT EXISTS (SELECT 1 FROM credit_notes n WHERE n.organisation_id = organisation
      AND n.id = note_id AND n.subscription_id <> subscription)
$$;

CREATE FUNCTION check_job_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM ledger_jobs o
    WHERE o.id = NEW.id AND NOT is_of_subscription(o.organisation_id, o.subscription_id,
      ARRAY[o.invoice_id], o.credit_note_id)
  ) THEN
    PERFORM refuse(TG_NAME, format('operation %s is about a document of another subscription',
      NEW.id));
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER ledger_jobs_documents AFTER INSERT OR UPDATE OF kind, subscription_id,
  invoice_id, credit_note_id ON ledger_jobs
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind IN ('amend_invoice',
    'create_credit_note', 'allocate_credit'))
  EXECUTE FUNCTION check_job_documents();

CREATE FUNCTION check_deferred_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM deferred_lines d
    WHERE d.id = NEW.id AND NOT is_of_subscription(d.organisation_id, d.subscription_id,
      ARRAY[d.invoice_id], NULL)
  ) THEN
    PERFORM refuse(TG_NAME,
      format('deferred line %s is billed on an invoice of another subscription', NEW.id));
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER deferred_lines_billed AFTER INSERT OR UPDATE OF subscription_id,
  invoice_id ON deferred_lines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.invoice_id IS NOT NULL)
    EXECUTE FUNCTION check_deferred_line();

CREATE FUNCTION check_unit_change_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM unit_changes u
    WHERE u.id = NEW.id
      AND NOT is_of_subscription(u.organisation_id, u.subscription_id, ARRAY[u.invoice_id,
        u.renewal_invoice_id], u.credit_note_id)
  ) THEN
    PERFORM refuse(TG_NAME, format('change of units %s names a document of another subscription',
      NEW.id));
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER unit_changes_documents AFTER INSERT OR UPDATE OF subscription_id,
  invoice_id, renewal_invoice_id, credit_note_id
  ON unit_changes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (num_nonnulls(NEW.invoice_id, NEW.renewal_invoice_id, NEW.credit_note_id) > 0)
    EXECUTE FUNCTION check_unit_change_documents();

-- A document that such a row names stays with its subscription.
CREATE FUNCTION check_document_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM ledger_jobs o
    WHERE o.organisation_id = NEW.organisation_id AND NEW.id IN (o.invoice_id, o.credit_note_id)
      AND o.kind <> 'create_invoice'
      AND o.subscription_id <> NEW.subscription_id
  ) OR EXISTS (
    SELECT 1 FROM deferred_lines d
    WHERE d.organisation_id = NEW.organisation_id AND d.invoice_id = NEW.id
      AND d.subscription_id <> NEW.subscription_id
  ) OR EXISTS (
    SELECT 1 FROM unit_changes u
    WHERE u.organisation_id = NEW.organisation_id AND NEW.id IN (u.invoice_id, u.renewal_invoice_id,
      u.credit_note_id)
      AND u.subscription_id <> NEW.subscription_id
  ) THEN
    PERFORM refuse(TG_NAME, format('%s %s is moved away from rows that name its subscription',
      TG_TABLE_NAME, NEW.id));
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER invoices_subscription AFTER UPDATE OF subscription_id ON invoices
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.subscription_id <> OLD.subscription_id)
    EXECUTE FUNCTION check_document_subscription();

CREATE CONSTRAINT TRIGGER credit_notes_subscription AFTER UPDATE OF subscription_id ON credit_notes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.subscription_id <> OLD.subscription_id)
    EXECUTE FUNCTION check_document_subscription();

-- How long a call counts after its end. Wherever the ledger's own minute begins, it received the
-- call between its start and its end. So it never counts more calls in a minute than this budget
-- does. A tenth of a second is added because clocks differ.
CREATE FUNCTION ledger_minute() RETURNS interval IMMUTABLE
  LANGUAGE sql RETURN interval '60.1 seconds';

-- Returns a budget at `instant`. A flight whose lease has expired is a call that ended with it, and
-- calls that no longer count are removed. If the clock was set back since the row was written, all
-- stored times move with it, so that nothing is lost and nothing waits for the clock to catch up.
CREATE FUNCTION ledger_budget_at(budget ledger_budgets, instant timestamptz,
  OUT known ledger_budgets) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  back interval := greatest(budget.written_at - instant, interval '0');
BEGIN
  known := budget;
  known.granted_at := budget.granted_at - back;
  known.others_until := budget.others_until - back;
  known.day_observed_at := budget.day_observed_at - back;
  known.written_at := instant;
  SELECT coalesce(array_agg(f.id ORDER BY f.place) FILTER (WHERE f.until - back > instant), '{}'),
      coalesce(array_agg(f.until - back ORDER BY f.place) FILTER (WHERE f.until - back > instant),
        '{}'),
      array_cat(budget.calls, coalesce(array_agg(f.until) FILTER (WHERE f.until - back <= instant),
        '{}'))
    INTO known.flights, known.flights_until, known.calls
    FROM unnest(budget.flights, budget.flights_until) WITH ORDINALITY AS f (id, until, place);
  SELECT coalesce(array_agg(c.at - back ORDER BY c.at), '{}') INTO known.calls
    FROM unnest(known.calls) AS c (at)
    WHERE c.at - back > instant - ledger_minute();
  IF known.others_until <= instant THEN
    known.others_calls := 0;
  END IF;
END $$;

-- Takes one call of an organisation's budget, or returns for how many milliseconds there is none
-- and why. The limits are those of the kind of ledger: calls a minute, a day and at once. If the
-- calls of a day are null, only the ledger's answers say what is left of its day.
-- Background work leaves a part of each to callers who wait. Past half of the minute's calls the
-- rest is spaced evenly, as fast as used calls become free again. Work that arrives meanwhile goes
-- in one call, and no caller meets an empty minute. Above 1,000 a minute nothing is counted.
CREATE FUNCTION take_ledger_call(the_organisation uuid, the_call uuid, is_background boolean,
  lease interval, a_minute integer, a_day integer, at_once integer)
RETURNS TABLE (granted boolean, scope text, wait_ms bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  most_counted CONSTANT integer := 1000;
  seen_for CONSTANT interval := interval '1 hour';
  reserved_calls CONSTANT integer := 2;
  reserved_day CONSTANT integer := 50;
  stored ledger_budgets%ROWTYPE;
  budget ledger_budgets%ROWTYPE;
  instant timestamptz;
  running integer;
  used integer;
  allowed integer;
  leaving timestamptz[];
  free_at timestamptz;
BEGIN
  -- It need not wait for the disk: after a crash the ledger's own refusals are obeyed.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until, minute_limit)
    VALUES (the_organisation, '{}', '{}', '{}', a_minute) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT stored FROM ledger_budgets b
    WHERE b.organisation_id = the_organisation FOR UPDATE;
  instant := clock_timestamp();
  budget := ledger_budget_at(stored, instant);
  -- A ledger that reports nothing of its day is counted from the first call of each 24 hours.
  IF a_day IS NOT NULL
    AND coalesce(budget.day_observed_at <= instant - interval '24 hours', true) THEN
    budget.day_remaining := a_day;
    budget.day_observed_at := instant;
  END IF;
  running := cardinality(budget.flights);
  used := cardinality(budget.calls) + running + budget.others_calls;
  allowed := budget.minute_limit - CASE WHEN is_background THEN least(reserved_calls,
    budget.minute_limit - 1) ELSE 0 END;
  IF budget.day_remaining <= (CASE WHEN is_background THEN reserved_day ELSE 0 END) THEN
    scope := 'day';
    free_at := budget.day_observed_at
      + CASE WHEN a_day IS NULL THEN seen_for ELSE interval '24 hours' END;
  END IF;
  IF running >= (CASE WHEN is_background THEN at_once - 1 ELSE at_once END)
    AND coalesce(free_at <= instant, true) THEN
    scope := 'concurrent';
    free_at := instant + interval '50 milliseconds';
  END IF;
  IF budget.minute_limit <= most_counted AND used > budget.minute_limit / 2
    AND coalesce(free_at <= instant, true) THEN
    SELECT array_agg(l.at ORDER BY l.at) INTO leaving FROM (
      SELECT c.at + ledger_minute() AS at FROM unnest(budget.calls) AS c (at)
      UNION ALL SELECT instant + ledger_minute() FROM generate_series(1, running)
      UNION ALL SELECT budget.others_until FROM generate_series(1, budget.others_calls)) l;
    scope := 'minute';
    IF used >= allowed THEN
      free_at := leaving[used - allowed + 1];
    ELSE
      SELECT budget.granted_at + max((l.at - instant) / (allowed - used + l.place - 1)) INTO free_at
        FROM unnest(leaving) WITH ORDINALITY AS l (at, place);
    END IF;
  END IF;
  IF free_at > instant THEN
    granted := false;
    wait_ms := ceil(1000 * extract(epoch FROM free_at - instant));
    -- Otherwise a time that was read with the previous clock would be moved again each time.
    IF stored.written_at > instant THEN
      UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights,
        flights_until = budget.flights_until,
          granted_at = budget.granted_at, written_at = instant, others_until = budget.others_until,
            day_observed_at = budget.day_observed_at
        WHERE b.organisation_id = the_organisation;
    END IF;
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE ledger_budgets b SET calls = CASE WHEN budget.minute_limit <= most_counted
    THEN budget.calls ELSE '{}' END,
      flights = array_append(budget.flights, the_call),
        flights_until = array_append(budget.flights_until, instant + lease),
      granted_at = instant, written_at = instant, others_calls = budget.others_calls,
        others_until = budget.others_until,
      day_remaining = budget.day_remaining - 1, day_observed_at = budget.day_observed_at
    WHERE b.organisation_id = the_organisation;
  granted := true;
  scope := NULL;
  wait_ms := 0;
  RETURN NEXT;
END $$;

-- Records that a call is over, and what the ledger's headers reported as left, or null. The headers
-- win: a higher limit is used, and so is a smaller remainder than ours, because others may use
-- the ledger by the same connection.
CREATE FUNCTION end_ledger_call(the_organisation uuid, the_call uuid, the_minute_remaining integer,
  the_day_remaining integer, least_limit integer, at_once integer)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  most_counted CONSTANT integer := 1000;
  budget ledger_budgets%ROWTYPE;
  instant timestamptz;
  place integer;
  used integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO budget FROM ledger_budgets b WHERE b.organisation_id = the_organisation FOR UPDATE;
  instant := clock_timestamp();
  budget := ledger_budget_at(budget, instant);
  place := array_position(budget.flights, the_call);
  -- A call whose lease had expired is counted already.
  IF place IS NOT NULL THEN
    budget.flights := array_cat(budget.flights[:place - 1], budget.flights[place + 1:]);
    budget.flights_until := array_cat(budget.flights_until[:place - 1],
      budget.flights_until[place + 1:]);
    budget.calls := array_append(budget.calls, instant);
  END IF;
  IF the_minute_remaining IS NOT NULL THEN
    used := cardinality(budget.calls) + cardinality(budget.flights);
    IF budget.minute_limit > most_counted AND the_minute_remaining < most_counted THEN
      -- The limit was never so high, or nearly all of it is used. Count from here on.
      budget.minute_limit := greatest(least_limit, the_minute_remaining + 1);
      used := 1;
    END IF;
    -- This call and the reported remainder were allowed. So our minute's calls and the remainder
    -- are the most that can have been.
    budget.minute_limit := greatest(budget.minute_limit, the_minute_remaining + 1);
    IF budget.minute_limit <= most_counted THEN
      budget.minute_limit := least(budget.minute_limit, greatest(least_limit,
        used + the_minute_remaining));
      budget.others_calls := greatest(0, budget.minute_limit - used - the_minute_remaining);
      budget.others_until := instant + ledger_minute();
    ELSE
      budget.others_calls := 0;
      budget.calls := '{}';
    END IF;
  END IF;
  -- An answer may be overtaken by those of later calls. A new day restores far more than their
  -- difference.
  IF the_day_remaining > budget.day_remaining + at_once THEN
    budget.day_remaining := the_day_remaining - cardinality(budget.flights);
  ELSE
    budget.day_remaining := least(budget.day_remaining, the_day_remaining);
  END IF;
  UPDATE ledger_budgets b SET calls = budget.calls, flights = budget.flights,
    flights_until = budget.flights_until,
      granted_at = budget.granted_at, written_at = instant, minute_limit = budget.minute_limit,
        others_calls = budget.others_calls,
      others_until = budget.others_until, day_remaining = budget.day_remaining,
      day_observed_at = CASE WHEN the_day_remaining IS NULL THEN budget.day_observed_at
        ELSE instant END
    WHERE b.organisation_id = the_organisation;
END $$;

-- A usage event belongs to a subscription of its organisation, and to a meter of that
-- subscription's plan.
CREATE FUNCTION hold_usage_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM (SELECT DISTINCT organisation_id, subscription_id, meter_id FROM stored) e
      LEFT JOIN subscriptions s ON s.organisation_id = e.organisation_id
        AND s.id = e.subscription_id
      LEFT JOIN plan_meters p ON p.organisation_id = e.organisation_id AND p.plan_id = s.plan_id
        AND p.meter_id = e.meter_id
    WHERE p.plan_id IS NULL
  ) THEN
    RAISE EXCEPTION 'a usage event of no such subscription and meter' USING
      ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER usage_events_of_plan AFTER INSERT ON usage_events REFERENCING NEW TABLE AS stored
  FOR EACH STATEMENT EXECUTE FUNCTION hold_usage_events();

-- A usage event never changes and is never deleted. It can be voided once.
CREATE FUNCTION refuse_usage_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.voided_at IS NOT NULL
    OR (OLD.organisation_id, OLD.event_id, OLD.subscription_id, OLD.meter_id, OLD.period_index,
      OLD.bill, OLD.quantity, OLD.occurred_at,
      OLD.created_at) IS DISTINCT FROM (NEW.organisation_id, NEW.event_id, NEW.subscription_id,
        NEW.meter_id, NEW.period_index, NEW.bill,
      NEW.quantity, NEW.occurred_at, NEW.created_at)
  THEN
    RAISE EXCEPTION 'a usage event is stored for ever as it was reported' USING
      ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER usage_events_stay BEFORE UPDATE OR DELETE ON usage_events FOR EACH ROW
  EXECUTE FUNCTION refuse_usage_change();

-- An event never changes, because receivers were sent it.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an event never changes' USING ERRCODE = 'check_violation',
    CONSTRAINT = TG_NAME;
END $$;

CREATE TRIGGER events_stay BEFORE UPDATE ON events FOR EACH ROW
  EXECUTE FUNCTION refuse_event_change();

-- Outbox entries: one for each object that a statement changes visibly, with its state after the
-- change. Triggers only insert them, so that no two transactions wait for each other because of
-- them.
CREATE FUNCTION outbox_customers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A customer whose contact is still being created is not visible yet.
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'customer', id, 'created' FROM now_rows
        WHERE ledger_contact_id IS NOT NULL;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'customer', n.id, CASE WHEN o.ledger_contact_id IS NULL
        THEN 'created' ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE n.ledger_contact_id IS NOT NULL
          AND (n.code, n.name, n.company_name, n.first_name, n.last_name, n.email, n.status,
            n.ledger_contact_id)
            IS DISTINCT FROM (o.code, o.name, o.company_name, o.first_name, o.last_name, o.email,
              o.status, o.ledger_contact_id);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER customers_outbox_insert AFTER INSERT ON customers REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_customers();

CREATE TRIGGER customers_outbox_update AFTER UPDATE
  ON customers REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_customers();

CREATE FUNCTION outbox_subscriptions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'subscription', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'subscription', n.id,
          CASE WHEN n.status IN ('ended', 'complete') AND o.status NOT IN ('ended', 'complete')
            THEN 'ended' ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.status, n.start_date, n.renewal_date, n.end_date, n.units, n.minimum_units,
          n.discount_percent, n.price_override,
            n.cancel_at_period_end, n.end_after_cycles, n.label, n.invoice_reference)
          IS DISTINCT FROM (o.status, o.start_date, o.renewal_date, o.end_date, o.units,
            o.minimum_units, o.discount_percent,
            o.price_override, o.cancel_at_period_end, o.end_after_cycles, o.label,
              o.invoice_reference);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER subscriptions_outbox_insert AFTER INSERT
  ON subscriptions REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_subscriptions();

CREATE TRIGGER subscriptions_outbox_update AFTER UPDATE
  ON subscriptions REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_subscriptions();

CREATE FUNCTION outbox_invoices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'invoice', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'invoice', n.id,
          CASE WHEN n.status <> o.status AND n.status IN ('paid', 'voided', 'deleted')
            THEN n.status ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.number, n.reference, n.status, n.subtotal, n.total, n.amount_due, n.issue_date,
          n.due_date, n.period_start, n.period_end,
            n.sent, n.ledger_invoice_id, n.sync_error)
          IS DISTINCT FROM (o.number, o.reference, o.status, o.subtotal, o.total, o.amount_due,
            o.issue_date, o.due_date, o.period_start,
            o.period_end, o.sent, o.ledger_invoice_id, o.sync_error);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER invoices_outbox_insert AFTER INSERT ON invoices REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_invoices();

CREATE TRIGGER invoices_outbox_update AFTER UPDATE
  ON invoices REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_invoices();

CREATE FUNCTION outbox_credit_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'credit_note', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'credit_note', n.id,
          CASE WHEN n.status <> o.status AND n.status IN ('voided', 'deleted') THEN n.status
            ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.number, n.reference, n.status, n.credit_note_date, n.subtotal, n.total,
          n.remaining_credit, n.sent,
            n.ledger_credit_note_id, n.sync_error)
          IS DISTINCT FROM (o.number, o.reference, o.status, o.credit_note_date, o.subtotal,
            o.total, o.remaining_credit, o.sent,
            o.ledger_credit_note_id, o.sync_error);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER credit_notes_outbox_insert AFTER INSERT
  ON credit_notes REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_credit_notes();

CREATE TRIGGER credit_notes_outbox_update AFTER UPDATE
  ON credit_notes REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_credit_notes();

-- A document's lines are shown with it.
CREATE FUNCTION outbox_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    -- A line that moves changes both its invoices.
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'invoice', i.id, 'updated' FROM now_rows n
        JOIN old_rows o ON o.id = n.id
          CROSS JOIN LATERAL (VALUES (n.invoice_id), (o.invoice_id)) i(id)
        WHERE (n.invoice_id, n.position, n.kind, n.name, n.description, n.units, n.quantity,
          n.unit_price, n.amount, n.period_start, n.period_end,
            n.from_units, n.to_units, n.days_remaining, n.days_in_period, n.amending)
          IS DISTINCT FROM (o.invoice_id, o.position, o.kind, o.name, o.description, o.units,
            o.quantity, o.unit_price, o.amount, o.period_start,
            o.period_end, o.from_units, o.to_units, o.days_remaining, o.days_in_period, o.amending);
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'invoice', invoice_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER invoice_lines_outbox_insert AFTER INSERT
  ON invoice_lines REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_lines();

CREATE TRIGGER invoice_lines_outbox_delete AFTER DELETE
  ON invoice_lines REFERENCING OLD TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_lines();

CREATE TRIGGER invoice_lines_outbox_update AFTER UPDATE
  ON invoice_lines REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_lines();

CREATE FUNCTION outbox_allocations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'credit_note', n.credit_note_id, 'updated'
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.invoice_id, n.amount, n.date, n.status, n.sync_status)
          IS DISTINCT FROM (o.invoice_id, o.amount, o.date, o.status, o.sync_status);
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'credit_note', credit_note_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER allocations_outbox_insert AFTER INSERT ON allocations
  REFERENCING NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_allocations();

CREATE TRIGGER allocations_outbox_delete AFTER DELETE ON allocations
  REFERENCING OLD TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_allocations();

CREATE TRIGGER allocations_outbox_update AFTER UPDATE
  ON allocations REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
  FOR EACH STATEMENT EXECUTE FUNCTION outbox_allocations();
