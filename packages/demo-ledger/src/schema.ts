/**
 * The demo ledger's tables, in a separate PostgreSQL schema so that they can share a database with
 * billing. All lasting state is here, so a restart loses nothing. The tables' checks limit the
 * sums: no document has more paid, credited or allocated than its total, and a removed document has
 * none.
 */
import { createHash } from "node:crypto";
import type { Queryable } from "./database.ts";

// A number that no other program of this database uses. It locks concurrent starts, so that one
// waits for the other.
const schemaLock = 7_305_114_207;

// Safe to run on every earlier state of the tables. Newer checks do not apply to older rows.
const schemaStatements = `
create schema if not exists demo_ledger;
create table if not exists demo_ledger.tenants (
  tenant_id uuid primary key,
  name text not null,
  currency text not null,
  timezone text not null,
  client_id text not null unique,
  secret_hash text not null,
  period_lock_date date,
  created_at timestamptz not null default now()
);
alter table demo_ledger.tenants
  add column if not exists webhook_url text,
  add column if not exists webhook_key text,
  add column if not exists folds_numbers boolean not null default false;
create table if not exists demo_ledger.contacts (
  contact_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  name text not null,
  contact_number text,
  first_name text,
  last_name text,
  email text,
  status text not null check (status in ('ACTIVE', 'ARCHIVED', 'GDPRREQUEST')),
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);
alter table demo_ledger.contacts
  add column if not exists merged_to uuid references demo_ledger.contacts,
  add column if not exists is_supplier boolean not null default false;
create unique index if not exists contacts_active_name
  on demo_ledger.contacts (tenant_id, lower(name)) where status = 'ACTIVE';
create unique index if not exists contacts_number
  on demo_ledger.contacts (tenant_id, contact_number) where contact_number is not null;
create index if not exists contacts_changes on demo_ledger.contacts (tenant_id, updated_at,
  contact_id);
create table if not exists demo_ledger.invoices (
  invoice_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  contact_id uuid not null references demo_ledger.contacts,
  number text not null,
  reference text not null,
  url text,
  status text not null check (status in ('DRAFT', 'SUBMITTED', 'AUTHORISED', 'PAID', 'VOIDED',
    'DELETED')),
  line_amount_types text not null,
  currency text not null,
  issue_date text not null,
  due_date text,
  sub_total numeric(20, 2) not null,
  total_tax numeric(20, 2) not null,
  total numeric(20, 2) not null,
  amount_paid numeric(20, 2) not null default 0,
  amount_credited numeric(20, 2) not null default 0,
  fully_paid_on text,
  sent boolean not null default false,
  lines jsonb not null,
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  unique (tenant_id, number),
  check (amount_paid + amount_credited <= total or total < 0)
);
alter table demo_ledger.invoices
  drop constraint if exists invoices_money_not_negative,
  drop constraint if exists invoices_money_on_approved,
  drop constraint if exists invoices_paid_whole,
  add constraint invoices_money_not_negative check (amount_paid >= 0
    and amount_credited >= 0) not valid,
  add constraint invoices_money_on_approved
    check (amount_paid + amount_credited = 0 or status in ('AUTHORISED', 'PAID')) not valid,
  add constraint invoices_paid_whole check (amount_paid + amount_credited = total
    or status <> 'PAID') not valid;
create index if not exists invoices_changes on demo_ledger.invoices (tenant_id, updated_at,
  invoice_id);
create index if not exists invoices_contact on demo_ledger.invoices (tenant_id, contact_id);
create table if not exists demo_ledger.payments (
  payment_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  invoice_id uuid not null references demo_ledger.invoices,
  amount numeric(20, 2) not null check (amount > 0),
  paid_on text not null,
  created_at timestamptz not null default now()
);
alter table demo_ledger.payments
  add column if not exists status text not null default 'AUTHORISED'
    check (status in ('AUTHORISED', 'DELETED'));
create index if not exists payments_invoice on demo_ledger.payments (invoice_id);
create table if not exists demo_ledger.credit_notes (
  credit_note_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  contact_id uuid not null references demo_ledger.contacts,
  number text not null,
  reference text not null,
  status text not null check (status in ('DRAFT', 'SUBMITTED', 'AUTHORISED', 'PAID', 'VOIDED',
    'DELETED')),
  line_amount_types text not null,
  currency text not null,
  issue_date text not null,
  sub_total numeric(20, 2) not null,
  total_tax numeric(20, 2) not null,
  total numeric(20, 2) not null,
  amount_allocated numeric(20, 2) not null default 0 check (amount_allocated >= 0),
  fully_paid_on text,
  sent boolean not null default false,
  lines jsonb not null,
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  unique (tenant_id, number),
  check (amount_allocated <= total or amount_allocated = 0),
  check (amount_allocated = 0 or status in ('AUTHORISED', 'PAID')),
  check (amount_allocated = total or status <> 'PAID')
);
create index if not exists credit_notes_changes
  on demo_ledger.credit_notes (tenant_id, updated_at, credit_note_id);
create index if not exists credit_notes_contact on demo_ledger.credit_notes (tenant_id, contact_id);
create table if not exists demo_ledger.credit_allocations (
  allocation_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  credit_note_id uuid not null references demo_ledger.credit_notes,
  invoice_id uuid not null references demo_ledger.invoices,
  amount numeric(20, 2) not null check (amount > 0),
  allocated_on text not null,
  entry bigint not null generated always as identity
);
create index if not exists credit_allocations_note
  on demo_ledger.credit_allocations (credit_note_id);
create index if not exists credit_allocations_invoice
  on demo_ledger.credit_allocations (invoice_id);
create table if not exists demo_ledger.idempotency (
  client_id text not null,
  key text not null,
  fingerprint text not null,
  status integer,
  body text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (client_id, key)
);
create table if not exists demo_ledger.apps (
  client_id text primary key,
  secret_hash text not null,
  name text not null,
  redirect_urls text[] not null,
  access_seconds integer not null,
  grace_seconds integer not null,
  refresh_seconds integer not null,
  refreshes integer not null default 0
);
create table if not exists demo_ledger.codes (
  code_hash text primary key,
  client_id text not null references demo_ledger.apps,
  redirect_url text not null,
  challenge text,
  event_id uuid not null,
  created_at timestamptz not null default now()
);
create table if not exists demo_ledger.app_connections (
  connection_id uuid primary key,
  client_id text not null references demo_ledger.apps,
  tenant_id uuid not null references demo_ledger.tenants,
  event_id uuid not null,
  created_at timestamptz not null default now(),
  unique (client_id, tenant_id)
);
create table if not exists demo_ledger.refresh_tokens (
  token_hash text primary key,
  client_id text not null references demo_ledger.apps,
  event_id uuid not null,
  expires_at timestamptz not null,
  replaced_at timestamptz
);
create index if not exists idempotency_age on demo_ledger.idempotency (created_at);
create table if not exists demo_ledger.webhook_events (
  event_id bigint primary key generated always as identity,
  tenant_id uuid not null references demo_ledger.tenants,
  category text not null,
  type text not null,
  resource_id uuid not null,
  happened_at timestamptz not null,
  attempts integer not null default 0,
  try_at timestamptz not null default now()
);
create or replace function demo_ledger.publish_change() returns trigger
language plpgsql as $publish$
begin
  if tg_op = 'UPDATE' and new.updated_at = old.updated_at
    and to_jsonb(new) ->> 'sent' is distinct from to_jsonb(old) ->> 'sent' then
    return null;
  end if;
  insert into demo_ledger.webhook_events (tenant_id, category, type, resource_id, happened_at)
    select t.tenant_id, tg_argv[0], case tg_op when 'INSERT' then 'CREATE' else 'UPDATE' end,
      (to_jsonb(new) ->> tg_argv[1])::uuid, new.updated_at
    from demo_ledger.tenants t where t.tenant_id = new.tenant_id and t.webhook_url is not null;
  return null;
end $publish$;
create or replace trigger publish_change after insert or update on demo_ledger.contacts
  for each row execute function demo_ledger.publish_change('CONTACT', 'contact_id');
create or replace trigger publish_change after insert or update on demo_ledger.invoices
  for each row execute function demo_ledger.publish_change('INVOICE', 'invoice_id');
create or replace trigger publish_change after insert or update on demo_ledger.credit_notes
  for each row execute function demo_ledger.publish_change('CREDITNOTE', 'credit_note_id');
-- The triggers of earlier versions, which would publish every change a second time.
drop function if exists demo_ledger.tell_change cascade;
`;

// Stored as the schema's comment. Running the statements again would lock tables that another
// server is writing.
const version = createHash("sha256").update(schemaStatements).digest("hex");

/** Creates the tables, or migrates those of an earlier version. Two concurrent starts are safe. */
export async function prepareSchema(client: Queryable): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1)", [schemaLock]);
  const { rows } = await client.query<{ version: string | null }>(
    "select obj_description(to_regnamespace('demo_ledger'), 'pg_namespace') as version",
  );
  if (rows[0]?.version === version) return;
  await client.query(`${schemaStatements} comment on schema demo_ledger is '${version}';`);
}
