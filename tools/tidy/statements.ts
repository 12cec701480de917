/**
 * Only `src/store/database` sends text to PostgreSQL and takes text for SQL. Everything else
 * declares its statements, so that a test prepares each, and no value becomes a part of one.
 */
import { type Fault, matches, type Source } from "./source.ts";

const owner = "src/store/database/";

/** Returns a fault for each call of the driver's `query` and each use of `asSql` outside. */
export function statementFaults({ path, code }: Source): Fault[] {
  if (!path.startsWith("src/") || path.startsWith(owner)) return [];
  return [
    ...faultsOf(/\.query\b\s*[(<]/g, "declare the statement with its row"),
    ...faultsOf(/\basSql\b/g, "write SQL as sql`…`, a word as literal(…)"),
  ];

  function faultsOf(pattern: RegExp, advice: string): Fault[] {
    return matches(code, pattern).map(({ line }) => `${path}:${line} ${advice}`);
  }
}
