/** The pool of a test's own, which waits for a connection as long as a machine with too much to do may need. */
import type pg from "pg";
import { createPool } from "../../src/store/database/pool.ts";

/** The service tells a request after three seconds that its database cannot be reached; in a test that would be luck. */
const connectTimeoutMs = 20_000;

/** A pool as the service has it, but for its patience. */
export function testPool(databaseUrl: string, size: number, name = "test"): pg.Pool {
  return createPool({ databaseUrl, size, name, connectTimeoutMs }, () => undefined);
}
