/**
 * Runs every write of the admin API in one transaction with its audit log entry. There is no change
 * without an entry, and no entry without a change. ADMIN-2.
 */
import { PrismaPg } from "@prisma/adapter-pg";
import { Prisma, PrismaClient } from "../../gen/prisma/client.ts";
import { newId } from "../database/ids.ts";
import { inTransaction, type Pool, repeatBrokenOff, type Transaction } from "../database/pool.ts";

/** A transaction of an ordinary write. */
export type PrismaTransaction = Prisma.TransactionClient;

/** The operator and the call of a write. Without an operator it is the server's own machine. */
export interface Actor {
  readonly operatorId: string | null;
  readonly operatorName: string;
  readonly tokenId: string | null;
  /** The method, such as `billing.admin.v1.PlanService/UpdatePlan`. */
  readonly operation: string;
  readonly requestId: string | null;
}

/**
 * What was changed: records or plain objects. The log stores a snapshot of them without secrets.
 */
export interface Change {
  readonly targetKind:
    | "organisation"
    | "ledger_connection"
    | "account_mapping"
    | "api_key"
    | "plan"
    | "charge"
    | "meter"
    | "customer"
    | "document"
    | "subscription"
    | "usage_event"
    | "operator"
    | "operator_token"
    | "webhook_endpoint"
    | "webhook_delivery";
  readonly targetId: string;
  /** Null if the change belongs to no organisation. */
  readonly organisationId: string | null;
  readonly before: object | null;
  readonly after: object | null;
}

/**
 * The result of a write with its changes. Each change has its own entry. No change means no entry.
 */
export interface Changed<T> {
  readonly result: T;
  readonly changes: readonly Change[];
}

/** Runs writes over a pool. */
export interface Changes {
  readonly prisma: PrismaClient;
  /**
   * Runs `write` and logs its changes in one transaction, which may take `limitMs`. An exception
   * rolls both back.
   */
  run<T>(
    actor: Actor,
    write: (transaction: PrismaTransaction) => Promise<Changed<T>>,
    limitMs?: number,
  ): Promise<T>;
  /** The same for a write with statements that the API and the worker also use. */
  runOnClient<T>(actor: Actor, write: (client: Transaction) => Promise<Changed<T>>): Promise<T>;
}

/** A write of a few rows takes milliseconds. One that waits longer than this for a lock fails. */
const defaultLimitMs = 5_000;

/** Creates the runner of writes over a pool. */
export function createChanges(pool: Pool): Changes {
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    prisma,
    run: (actor, write, limitMs = defaultLimitMs) =>
      repeatBrokenOff(() =>
        prisma.$transaction(
          async (transaction) => {
            const { result, changes } = await write(transaction);
            if (changes.length > 0) {
              await transaction.auditEntry.createMany({
                data: changes.map((change) => entryOf(actor, change)),
              });
            }
            return result;
          },
          { maxWait: limitMs, timeout: limitMs },
        ),
      ),
    runOnClient: (actor, write) =>
      inTransaction(pool, async (client) => {
        const { result, changes } = await write(client);
        for (const change of changes)
          await client.query({ text: entryText, values: entryValues(actor, change) });
        return result;
      }),
  };
}

const entryText = `INSERT INTO audit_log (id, operator_id, operator_name, token_id, operation, request_id, target_kind,
    target_id, organisation_id, before, after)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

function entryValues(actor: Actor, change: Change): unknown[] {
  const { operatorId, operatorName, tokenId, operation, requestId } = actor;
  const { targetKind, targetId, organisationId, before, after } = change;
  const snapshots = [before, after].map((one) =>
    one === null ? null : JSON.stringify(snapshotOf(one)),
  );
  const who = [operatorId, operatorName, tokenId, operation, requestId];
  return [newId(), ...who, targetKind, targetId, organisationId, ...snapshots];
}

function entryOf(
  actor: Actor,
  { before, after, ...target }: Change,
): Prisma.AuditEntryCreateManyInput {
  return {
    id: newId(),
    ...actor,
    ...target,
    before: before === null ? Prisma.DbNull : snapshotOf(before),
    after: after === null ? Prisma.DbNull : snapshotOf(after),
  };
}

/**
 * Returns a record as the log stores it: names as in the contract, instants in ISO 8601, decimals
 * with four places. Bytes are left out, because they are hashes and encrypted secrets. So are
 * counters without a meaning outside the database.
 */
export function snapshotOf(record: object): Prisma.InputJsonObject {
  const members = Object.entries(record).flatMap(
    ([name, value]): [string, Prisma.InputJsonValue | null][] => {
      if (value === undefined || value instanceof Uint8Array || typeof value === "bigint")
        return [];
      return [[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), jsonOf(value)]];
    },
  );
  return Object.fromEntries(members) as Prisma.InputJsonObject;
}

function jsonOf(value: unknown): Prisma.InputJsonValue | null {
  if (value instanceof Date) return value.toISOString();
  if (Prisma.Decimal.isDecimal(value)) return value.toFixed(4);
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value === "object" && value !== null) return snapshotOf(value);
  return value as string | number | boolean | null;
}

/** Whether an error means that a unique value is taken. */
export function isTaken(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === "P2002";
}
