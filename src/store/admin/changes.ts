/**
 * Runs every write of the admin API in one transaction with its audit log entries. There is no
 * change without an entry, and no entry without a change. ADMIN-2. SQL, because one statement
 * writes any number of entries.
 */
import { Refusal } from "../../domain/refusal.ts";
import { Prisma } from "../../gen/prisma/client.ts";
import { isDatabaseError, uniqueViolation } from "../database/errors.ts";
import { newId } from "../database/ids.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { loadClient } from "../database/prisma/client.ts";
import { columnOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";

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
    | "console_session"
    | "saved_view"
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

/** Returns the result of a write with its changes. Without changes nothing was changed. */
export function changed<T>(result: T, ...changes: readonly Change[]): Changed<T> {
  return { result, changes };
}

/** A record with its id, and the organisation that it belongs to, if any. */
interface Recorded {
  readonly id: string;
  readonly organisationId?: string;
}

/** The change of a record. Null stands for one that does not exist before or after. */
export function changeOf(
  targetKind: Change["targetKind"],
  before: Recorded | null,
  after: Recorded | null,
): Change {
  const { id: targetId = "", organisationId = null } = after ?? before ?? {};
  return { targetKind, targetId, organisationId, before, after };
}

/** Runs writes over a pool. */
export interface Changes {
  /**
   * Runs `write` and logs its changes in one transaction. An exception rolls both back. A
   * transaction that PostgreSQL breaks off is repeated.
   */
  run<T>(actor: Actor, write: (tx: Transaction) => Promise<Changed<T>>): Promise<T>;
}

/** Creates the runner of writes over a pool. */
export function createChanges(pool: Pool): Changes {
  return {
    run: async (actor, write) => {
      await loadClient(pool);
      return inTransaction(pool, async (tx) => {
        const { result, changes } = await write(tx);
        if (changes.length > 0) await logChanges(tx, actor, changes);
        return result;
      });
    },
  };
}

const saveEntries = command({
  name: "save_audit_entries",
  text: sql`
    INSERT INTO audit_log
      (
        id, operator_id, operator_name, token_id, operation, request_id, target_kind, target_id,
        organisation_id, before, after
      )
    SELECT
      r.id, $1, $2, $3, $4, $5, r.target_kind, r.target_id, r.organisation_id, r.before, r.after
    FROM
      jsonb_to_recordset($6) AS r (
        position int, id uuid, target_kind text, target_id uuid, organisation_id uuid, before jsonb,
        after jsonb
      )
    ORDER BY r.position
  `,
});

/**
 * Adds entries to the audit log in the transaction of their changes. One statement for any number:
 * an import has hundreds.
 */
export async function logChanges(
  tx: Transaction,
  actor: Actor,
  changes: readonly Change[],
): Promise<void> {
  const { operatorId, operatorName, tokenId, operation, requestId } = actor;
  const entries = changes.map(
    ({ targetKind, targetId, organisationId, before, after }, position) => ({
      position,
      id: newId(),
      target_kind: targetKind,
      target_id: targetId,
      organisation_id: organisationId,
      before: before && snapshotOf(before),
      after: after && snapshotOf(after),
    }),
  );
  const json = JSON.stringify(entries);
  await saveEntries(tx, operatorId, operatorName, tokenId, operation, requestId, json);
}

/**
 * Returns a record as the log stores it: names as in the contract, instants in ISO 8601, decimals
 * with four places. Bytes are left out, because they are hashes and encrypted secrets. So are
 * counters without a meaning outside the database.
 */
function snapshotOf(record: object): Prisma.InputJsonObject {
  const members = Object.entries(record).flatMap(
    ([name, value]): [string, Prisma.InputJsonValue | null][] => {
      if (value === undefined || value instanceof Uint8Array || typeof value === "bigint")
        return [];
      return [[columnOf(name), jsonOf(value)]];
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

/**
 * Refuses `idempotency_conflict` if the error means that the id of a new object is taken: it is
 * derived from the operator's key, which created an object of another organisation (IDEMPOTENCY-7).
 */
export function refuseIfIdTaken(error: unknown, table: string): void {
  if (isDatabaseError(error, uniqueViolation, `${table}_pkey`)) throw otherRequest();
}

/** The refusal for a key that created something else, also once its 24 hours are over. */
export function otherRequest(): Refusal {
  const message = "This Idempotency-Key created something else by another request.";
  return new Refusal("idempotency_conflict", message, "Idempotency-Key");
}

/** Whether an error means that a unique value is taken. */
export function isTaken(error: unknown): boolean {
  return isDatabaseError(error, uniqueViolation);
}
