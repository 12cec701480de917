/**
 * `npm run config`: prints the settings in force, each with its value and source, and no secret.
 * Unknown settings and faults of API and worker go to standard error. With a fault the exit code is
 * 1.
 */
import { readConfig } from "../../config.ts";
import { ledgers } from "../../ledger/index.ts";
import { effectiveSettings } from "../settings/effective-settings.ts";
import { unknownSettings } from "../settings/unknown-settings.ts";

const rows = effectiveSettings(process.env, ledgers).map(({ name, value, source }) => [
  name,
  value ?? "not set",
  source,
]);
const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
for (const row of rows)
  console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
for (const unknown of unknownSettings(process.env, ledgers)) console.error(unknown);
try {
  // A worker needs more than an API process does.
  readConfig(process.env, ledgers, "worker");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
