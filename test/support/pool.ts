/**
 * The pool of a test's own, which waits for a connection as long as a machine with too much to do
 * may need.
 */
import type pg from "pg";
import { createPool } from "../../src/store/database/pool.ts";
import { allow } from "./slowness.ts";

/**
 * The service answers after three seconds that its database cannot be reached; a test would depend
 * on the machine's speed.
 */
const connectTimeoutMs = allow(4_000);

/**
 * A pool like the service's, with a longer connection time limit. A connection may learn that its
 * database is dropped after the pool's end has resolved. The driver's own pool would throw that.
 */
export function testPool(databaseUrl: string, size: number, name = "test"): pg.Pool {
  return createPool({ databaseUrl, size, name, connectTimeoutMs }, () => undefined);
}
