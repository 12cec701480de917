/**
 * Statements that a connection plans once. PostgreSQL expects many rows where a value is unknown,
 * and therefore plans a statement for its values each time, which often takes longer than to run
 * it. A statement that is planned once must be right with one plan for any values: a test at size
 * holds that plan.
 */
import { createHash } from "node:crypto";
import type pg from "pg";

const names = new Map<string, string>();

/** Returns a short name for a statement's text, so that a connection parses it once. */
export function statementName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash("sha256").update(text).digest("base64url").slice(0, 22);
    names.set(text, name);
  }
  return name;
}

/** A statement that each connection plans once. */
interface PlannedOnce extends pg.QueryConfig {
  readonly isPlannedOnce: true;
}

/**
 * Returns a statement that each connection plans once, for any values. Without a name it gets one
 * from its text.
 */
export function plannedOnce(statement: pg.QueryConfig): PlannedOnce {
  return { name: statementName(statement.text), ...statement, isPlannedOnce: true };
}

type Send = (...args: unknown[]) => unknown;
type Done = (error?: Error, ...results: unknown[]) => void;

/** How a session's statements are planned. `default` is the server's own setting. */
type Planning = "default" | "once";

const changes: Readonly<Record<Planning, string>> = {
  default: "RESET plan_cache_mode",
  once: "SET plan_cache_mode = force_generic_plan",
};

/**
 * Changes the setting of a connection before a statement that needs the other one. Consecutive
 * statements of one kind cost nothing more.
 */
export function planOnce(client: pg.PoolClient): void {
  const send = client.query.bind(client) as Send;
  /** Null while unknown: a rollback also undoes a change within its transaction. */
  let current: Planning | null = "default";

  const change = (wanted: Planning, done: Done) => {
    current = null;
    send(changes[wanted], (error?: Error) => {
      if (!error) current = wanted;
      done(error);
    });
  };

  const query = (...args: unknown[]): unknown => {
    const [statement, values] = args;
    const isUndoing = isRollback(statement);
    if (isUndoing) current = null;
    const wanted = isUndoing ? null : planningOf(statement, values);
    if (wanted === null || wanted === current) return send(...args);
    const done = args.at(-1);
    if (typeof done === "function")
      return change(wanted, (error) => (error ? (done as Done)(error) : void send(...args)));
    return new Promise<void>((resolve, reject) => {
      change(wanted, (error) => (error ? reject(error) : resolve()));
    }).then(() => send(...args));
  };
  client.query = query as typeof client.query;
}

/** Returns null for a statement without values, which no setting concerns. */
function planningOf(statement: unknown, values: unknown): Planning | null {
  if (typeof statement === "string") return Array.isArray(values) ? "default" : null;
  if (typeof statement !== "object" || statement === null) return null;
  if ("isPlannedOnce" in statement) return "once";
  return "values" in statement || Array.isArray(values) ? "default" : null;
}

function isRollback(statement: unknown): boolean {
  const text =
    typeof statement === "string" ? statement : (statement as { readonly text?: unknown }).text;
  return typeof text === "string" && text.startsWith("ROLLBACK");
}
