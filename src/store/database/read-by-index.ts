/**
 * Keeps a transaction from scanning whole tables. Plans that were made while the tables were small,
 * or without their statistics, would scan grown tables.
 */
import { sql } from "./sql/sql.ts";
import { command } from "./sql/statement.ts";

/** Makes the transaction use indexes from here on. */
export const readByIndex = command({
  name: "read_by_index",
  text: sql`SET LOCAL enable_seqscan = off`,
});
