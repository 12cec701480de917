/** Creates organisations and changes their settings for the admin API. DOCUMENT-6, SETUP-4. */

import { Refusal } from "../../domain/refusal.ts";
import type {
  FirstInvoiceStatus,
  OrganisationSettings,
} from "../../domain/subscriptions/organisation-settings.ts";
import { type Organisation as OrganisationRecord, Prisma } from "../../gen/prisma/client.ts";
import { performDue } from "../billing/catch-up.ts";
import { performable } from "../billing/due-organisations.ts";
import { isId } from "../database/ids.ts";
import type { Page, PageRequest } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import {
  type Actor,
  type Changed,
  type Changes,
  isTaken,
  type PrismaTransaction,
} from "./changes.ts";
import { pageBySeq } from "./page-by-seq.ts";
import { requireNothingInTheWay } from "./setup-mode-obstacles.ts";

/** An organisation with fields that only the admin API shows. */
export interface AdminOrganisation extends OrganisationSettings {
  readonly usageAllowed: boolean;
  readonly ledgerConnected: boolean;
  /** The time of a sandbox's test clock. Null if the organisation uses real time. */
  readonly testClock: Date | null;
  readonly createdAt: Date;
}

/** The settings that can change. Undefined leaves a setting as it is. */
export type OrganisationChanges = {
  readonly [K in
    | "name"
    | "timezone"
    | "defaultCurrency"
    | "canCreateLedgerContacts"
    | "usageAllowed"
    | "invoiceCreateDays"
    | "firstInvoiceStatus"
    | "dueDays"
    | "numberPrefix"]?: AdminOrganisation[K] | undefined;
};

/** A new organisation. An undefined field takes the default of its column. */
export type NewOrganisation = OrganisationChanges &
  Pick<AdminOrganisation, "id" | "name" | "timezone" | "defaultCurrency" | "livemode"> & {
    readonly setupMode?: boolean | undefined;
  };

/** The result of a switch of Setup Mode. */
export interface SetupModeChange {
  readonly organisation: AdminOrganisation;
  readonly changed: boolean;
  /**
   * Active subscriptions whose current period began in Setup Mode. That period is never billed.
   * SETUP-3.
   */
  readonly unbilledSubscriptions: number;
  /** The number of documents that billing before the switch issued. */
  readonly issued: number;
}

/** Organisations. Null stands for one that does not exist. */
export interface OrganisationStore {
  /** Creates the organisation, or returns the one that an earlier try with the same id created. */
  create(actor: Actor, organisation: NewOrganisation): Promise<AdminOrganisation>;
  get(id: string): Promise<AdminOrganisation | null>;
  list(page: PageRequest): Promise<Page<AdminOrganisation>>;
  update(actor: Actor, id: string, changes: OrganisationChanges): Promise<AdminOrganisation | null>;
  /**
   * Bills what is due, then switches. Refuses `invalid_state` while too much is still due, a due
   * subscription is parked, or an end, amendment or restoration runs. What was billed stays billed.
   */
  setSetupMode(actor: Actor, id: string, setupMode: boolean): Promise<SetupModeChange | null>;
}

/** The kinds of documents that each organisation numbers separately. */
const counters = ["invoice", "credit_note"] as const;

/**
 * Time limit of a change that makes the billing run check every subscription again. It takes about
 * fifty microseconds each, while creations wait.
 */
const lookLimitMs = 120_000;

/**
 * Time limit of the billing before a switch of Setup Mode. It covers some hundred thousand
 * subscriptions while the operator waits.
 */
const performLimitMs = 20_000;

/** Subscriptions in a statement, far below a statement's time limit. */
const lookBatch = 5_000;

const withConnection = { ledgerConnection: { select: { organisationId: true } } } as const;

type FullRecord = OrganisationRecord & { ledgerConnection: { organisationId: string } | null };

/**
 * Creates the organisation store over changes. Billing before a switch of Setup Mode runs over the
 * pool, for at most `performMs`.
 */
export function createOrganisationStore(
  { prisma, run }: Changes,
  pool: Pool,
  performMs = performLimitMs,
): OrganisationStore {
  const get = async (id: string): Promise<AdminOrganisation | null> => {
    if (!isId(id)) return null;
    const record = await prisma.organisation.findUnique({ where: { id }, include: withConnection });
    return record && readRecord(record);
  };
  return {
    get,
    create: async (actor, organisation) => {
      try {
        return await run(actor, (transaction) => create(transaction, organisation));
      } catch (error) {
        const earlier = isTaken(error) ? await get(organisation.id) : null;
        if (earlier === null) throw error;
        return earlier;
      }
    },
    list: async (page) => {
      const found = await pageBySeq(page, {
        seqOf: (id) => prisma.organisation.findUnique({ where: { id }, select: { seq: true } }),
        below: (seq, take) =>
          prisma.organisation.findMany({
            where: seq === undefined ? {} : { seq },
            orderBy: { seq: "desc" },
            take,
            include: withConnection,
          }),
      });
      return { ...found, data: found.data.map(readRecord) };
    },
    update: async (actor, id, changes) => {
      if (!isId(id)) return null;
      return run(actor, (transaction) => update(transaction, id, given(changes)), lookLimitMs);
    },
    setSetupMode: async (actor, id, setupMode) => {
      if (!isId(id)) return null;
      const endMs = performance.now() + performMs;
      for (let issued = 0; ; issued += await performDue(pool, id, endMs)) {
        const changed = await run(
          actor,
          (transaction) => switchSetupMode(transaction, id, setupMode),
          lookLimitMs,
        );
        if (changed === null) return null;
        if (changed !== "due")
          return { ...changed, issued, unbilledSubscriptions: await countUnbilled(prisma, id) };
        if (performance.now() > endMs) {
          throw new Refusal(
            "invalid_state",
            "What fell due before is still being billed: try again once nothing is due.",
          );
        }
      }
    },
  };
}

async function create(transaction: PrismaTransaction, { id, ...organisation }: NewOrganisation) {
  const record = await transaction.organisation.create({
    data: { id, ...given(organisation) },
    include: withConnection,
  });
  await transaction.documentCounter.createMany({
    data: counters.map((kind) => ({ organisationId: id, kind })),
  });
  const { ledgerConnection: _, ...after } = record;
  const change = {
    targetKind: "organisation",
    targetId: id,
    organisationId: id,
    before: null,
    after,
  } as const;
  return { result: readRecord(record), changes: [change] };
}

async function update(
  transaction: PrismaTransaction,
  id: string,
  changes: Partial<OrganisationRecord>,
) {
  const before = await lock(transaction, id);
  if (before === null) return { result: null, changes: [] };
  const record = await transaction.organisation.update({
    where: { id },
    data: changes,
    include: withConnection,
  });
  const { ledgerConnection: _, ...after } = record;
  const differs = Object.keys(changes).some(
    (name) => before[name as keyof OrganisationRecord] !== record[name as never],
  );
  if (
    before.setupMode !== record.setupMode ||
    before.invoiceCreateDays !== record.invoiceCreateDays
  ) {
    await lookAgain(transaction, id);
  }
  const change = {
    targetKind: "organisation",
    targetId: id,
    organisationId: id,
    before,
    after,
  } as const;
  return { result: readRecord(record), changes: differs ? [change] : [] };
}

/**
 * Switches Setup Mode if nothing is due. The mode in which a period begins decides whether it is
 * ever billed, so everything due must be billed first. Jobs under way were decided in the previous
 * mode, so the switch waits for them too. Both checks run under the organisation's lock: no job can
 * start between them and the switch. SETUP-3, SETUP-4.
 */
async function switchSetupMode(
  transaction: PrismaTransaction,
  id: string,
  setupMode: boolean,
): Promise<Changed<Pick<SetupModeChange, "organisation" | "changed"> | "due" | null>> {
  const before = await lock(transaction, id);
  const wasOther = before !== null && before.setupMode !== setupMode;
  if (wasOther && (await isAnyDue(transaction, id))) return { result: "due", changes: [] };
  if (wasOther) await requireNothingInTheWay(transaction, id);
  const { result, changes } = await update(transaction, id, { setupMode });
  return { result: result && { organisation: result, changed: wasOther }, changes };
}

async function isAnyDue(transaction: PrismaTransaction, id: string): Promise<boolean> {
  const rows = await transaction.$queryRaw<
    object[]
  >`SELECT FROM subscriptions s JOIN organisations o ON o.id = s.organisation_id
    WHERE o.id = ${id}::uuid AND s.due_at <= coalesce(o.test_clock, clock_timestamp()) AND ${Prisma.raw(performable)} LIMIT 1`;
  return rows.length > 0;
}

/**
 * Makes the next billing run check every subscription that is not over. Setup Mode and Invoice
 * Create Days decide when a subscription is due. A subscription that ended in Setup Mode is
 * included if a deferred amount or usage was not billed then. Subscriptions are locked by id, the
 * common order. PERIOD-4, INVARIANT-5.
 */
async function lookAgain(transaction: PrismaTransaction, organisationId: string): Promise<void> {
  for (let after = "00000000-0000-0000-0000-000000000000"; ; ) {
    const [batch] = await transaction.$queryRaw<{ last: string | null }[]>`WITH batch AS (
        SELECT s.id FROM subscriptions s
        WHERE s.organisation_id = ${organisationId}::uuid AND s.id > ${after}::uuid AND (s.due_at > 'epoch'
          OR s.due_at IS NULL AND s.status IN ('ended', 'complete') AND (
            s.id IN (SELECT d.subscription_id FROM deferred_lines d
              WHERE d.organisation_id = ${organisationId}::uuid AND d.invoice_id IS NULL)
            OR EXISTS (SELECT 1 FROM usage_events e
              WHERE e.subscription_id = s.id AND e.bill >= s.usage_billed AND e.voided_at IS NULL)))
        ORDER BY s.id LIMIT ${lookBatch} FOR NO KEY UPDATE OF s
      ), looked AS (
        UPDATE subscriptions s SET due_at = 'epoch' FROM batch WHERE s.organisation_id = ${organisationId}::uuid AND s.id = batch.id
      )
      SELECT (SELECT id FROM batch ORDER BY id DESC LIMIT 1)::text AS last`;
    if (!batch?.last) return;
    after = batch.last;
  }
}

/**
 * Returns the record, locked until the transaction ends. The value logged as before is therefore
 * the one that was replaced.
 */
async function lock(
  transaction: PrismaTransaction,
  id: string,
): Promise<OrganisationRecord | null> {
  await transaction.$executeRaw`SELECT 1 FROM organisations WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
  return transaction.organisation.findUnique({ where: { id } });
}

async function countUnbilled(prisma: Changes["prisma"], id: string): Promise<number> {
  const rows = await prisma.$queryRaw<{ count: number }[]>`SELECT count(*)::int AS count
    FROM subscriptions s JOIN periods p ON p.organisation_id = s.organisation_id AND p.subscription_id = s.id AND p.index = s.current_period
    WHERE s.organisation_id = ${id}::uuid AND s.status IN ('active', 'pending') AND p.setup_mode`;
  return rows[0]?.count ?? 0;
}

/** Removes undefined members. Those fields stay as they are, or take their defaults. */
export function given<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function readRecord(record: FullRecord): AdminOrganisation {
  return {
    id: record.id,
    name: record.name,
    timezone: record.timezone,
    defaultCurrency: record.defaultCurrency,
    livemode: record.livemode,
    setupMode: record.setupMode,
    canCreateLedgerContacts: record.canCreateLedgerContacts,
    usageAllowed: record.usageAllowed,
    invoiceCreateDays: record.invoiceCreateDays,
    firstInvoiceStatus: record.firstInvoiceStatus as FirstInvoiceStatus,
    dueDays: record.dueDays,
    numberPrefix: record.numberPrefix,
    revenueAccount: record.revenueAccount,
    taxType: record.taxType,
    ledgerConnected: record.ledgerConnection !== null,
    testClock: record.testClock,
    createdAt: record.createdAt,
  };
}
