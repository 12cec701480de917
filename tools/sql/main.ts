/**
 * Lays out the SQL of the service (`npm run format`). With `--check` it changes nothing, and fails
 * if a file is laid out otherwise (`npm run lint`).
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatStatements } from "./format.ts";

const root = join(import.meta.dirname, "../..");
const isCheck = process.argv.includes("--check");

const different: string[] = [];
for (const path of globSync("src/store/**/*.ts", { cwd: root }).sort()) {
  const full = join(root, path);
  const source = readFileSync(full, "utf8");
  const formatted = await formatStatements(source);
  if (formatted === source) continue;
  different.push(path);
  if (!isCheck) writeFileSync(full, formatted);
}
if (isCheck && different.length > 0) {
  console.error(`SQL is laid out otherwise by npm run format:\n  ${different.join("\n  ")}`);
  process.exitCode = 1;
}
