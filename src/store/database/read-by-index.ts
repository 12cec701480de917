/**
 * Forbids scans of whole tables until a transaction ends. Plans that were made while the tables
 * were small, or without their statistics, would scan grown tables.
 */
import { sql } from "./sql/sql.ts";
import { command } from "./sql/statement.ts";

/** Makes the transaction use indexes from here on. */
export const readByIndex = command({
  name: "read_by_index",
  text: sql`SET LOCAL enable_seqscan = off`,
});

/** Makes the transaction use no index as a mere set of pages either, whose rows come unsorted. */
export const readInOrder = command({
  name: "read_in_order",
  text: sql`SET LOCAL enable_bitmapscan = off`,
});
