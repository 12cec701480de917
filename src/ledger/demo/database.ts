/**
 * The demo ledger's own tables, in a PostgreSQL schema of their own so that they can share a database with billing.
 * Everything that the demo ledger promises to remember is here; a restart loses nothing.
 */
import pg from "pg";

/** A client inside a transaction, or the pool for single statements. */
export type Queryable = Pick<pg.PoolClient, "query">;

// Any number that no other program of this database uses: two starts at once wait for each other here.
const schemaLock = 7_305_114_207;

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
  next_number bigint not null default 1,
  created_at timestamptz not null default now()
);
create table if not exists demo_ledger.contacts (
  contact_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  name text not null,
  contact_number text,
  account_number text,
  first_name text,
  last_name text,
  email text,
  status text not null check (status in ('ACTIVE', 'ARCHIVED', 'GDPRREQUEST')),
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);
create unique index if not exists contacts_active_name
  on demo_ledger.contacts (tenant_id, lower(name)) where status = 'ACTIVE';
create unique index if not exists contacts_number
  on demo_ledger.contacts (tenant_id, contact_number) where contact_number is not null;
create index if not exists contacts_changes on demo_ledger.contacts (tenant_id, updated_at, contact_id);
create table if not exists demo_ledger.invoices (
  invoice_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  contact_id uuid not null references demo_ledger.contacts,
  number text not null,
  reference text not null,
  url text,
  status text not null check (status in ('DRAFT', 'SUBMITTED', 'AUTHORISED', 'PAID', 'VOIDED', 'DELETED')),
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
create index if not exists invoices_changes on demo_ledger.invoices (tenant_id, updated_at, invoice_id);
create index if not exists invoices_contact on demo_ledger.invoices (tenant_id, contact_id);
create table if not exists demo_ledger.payments (
  payment_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  invoice_id uuid not null references demo_ledger.invoices,
  amount numeric(20, 2) not null check (amount > 0),
  paid_on text not null,
  created_at timestamptz not null default now()
);
create index if not exists payments_invoice on demo_ledger.payments (invoice_id);
alter table demo_ledger.tenants add column if not exists next_credit_note_number bigint not null default 1;
create table if not exists demo_ledger.credit_notes (
  credit_note_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  contact_id uuid not null references demo_ledger.contacts,
  number text not null,
  reference text not null,
  status text not null check (status in ('DRAFT', 'SUBMITTED', 'AUTHORISED', 'PAID', 'VOIDED', 'DELETED')),
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
create index if not exists credit_notes_changes on demo_ledger.credit_notes (tenant_id, updated_at, credit_note_id);
create index if not exists credit_notes_contact on demo_ledger.credit_notes (tenant_id, contact_id);
create table if not exists demo_ledger.credit_allocations (
  allocation_id uuid primary key,
  tenant_id uuid not null references demo_ledger.tenants,
  credit_note_id uuid not null references demo_ledger.credit_notes,
  invoice_id uuid not null references demo_ledger.invoices,
  amount numeric(20, 2) not null check (amount > 0),
  allocated_on text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index if not exists credit_allocations_note on demo_ledger.credit_allocations (credit_note_id);
create index if not exists credit_allocations_invoice on demo_ledger.credit_allocations (invoice_id);
create table if not exists demo_ledger.idempotency (
  client_id text not null,
  key text not null,
  fingerprint text not null,
  status integer,
  body text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (client_id, key)
);
create index if not exists idempotency_age on demo_ledger.idempotency (created_at);
`;

// Enough for the concurrent calls of several tenants; PostgreSQL's default of 100 connections is shared with billing.
const poolSize = 8;

/** A pool on the database, with the schema made where it is missing. Two starts at once are safe. */
export async function openDatabase(databaseUrl: string, onIdleError: (error: Error) => void): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize, application_name: "demo-ledger" });
  // An idle connection that breaks is replaced by the next query; unheard, it would end the process.
  pool.on("error", onIdleError);
  await inTransaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock($1)", [schemaLock]);
    await client.query(schemaStatements);
  });
  return pool;
}

/** Runs the work in one transaction: committed when it returns, rolled back when it throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks while it is in use tells so twice: by the query that fails, and by an event that, unheard, would
  // end the process.
  const onError = (failure: Error) => {
    broken = failure;
  };
  client.on("error", onError);
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** What a piece of work inside a transaction decided: keep what it wrote, or take it back. */
export interface Kept<T> {
  readonly keep: boolean;
  readonly value: T;
}

/** Runs the work so that what it wrote can be taken back without ending the transaction; a throw takes it back too. */
export async function inSavepoint<T>(client: Queryable, work: () => Promise<Kept<T>>): Promise<T> {
  await client.query("savepoint attempt");
  try {
    const { keep, value } = await work();
    await client.query(keep ? "release savepoint attempt" : "rollback to savepoint attempt");
    return value;
  } catch (error) {
    await client.query("rollback to savepoint attempt");
    throw error;
  }
}

/** The unique index that a failed statement ran into, or null where it failed for another reason. */
export function violatedIndex(error: unknown): string | null {
  const isUnique = error instanceof pg.DatabaseError && error.code === "23505";
  return isUnique ? (error.constraint ?? null) : null;
}
