/**
 * Statements that a connection plans once. PostgreSQL expects many rows where a value is unknown,
 * and therefore plans a statement for its values each time, which often takes longer than to run
 * it. A statement that is planned once must be right with one plan for any values: a test at size
 * holds that plan.
 */
import { createHash } from "node:crypto";
import type { Statement } from "./connection.ts";

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

/**
 * Returns a statement that each connection plans once, for any values. Without a name it gets one
 * from its text.
 */
export function plannedOnce(statement: Statement): Statement {
  return { name: statementName(statement.text), ...statement, isPlannedOnce: true };
}
