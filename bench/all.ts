/**
 * Runs the short forms of all measurements, one after the other, and prints one table: each row's
 * figure, floor and ratio. `--keep` keeps it in `bench/results/`. Ends with 1 if a ratio is more
 * than a tenth below the one that was kept last. Such a row is measured once more first.
 * `npm run bench -- all lists create` measures and compares these alone.
 *
 * Aim: less than 15 minutes on two cores.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describeRun, keep, lastKept } from "./support/results/kept-results.ts";
import {
  betterRows,
  type Row,
  readRows,
  type WorseRow,
  worseRows,
} from "./support/results/rows.ts";

/** A measurement with the figures that become rows. */
interface Measured {
  readonly args: readonly string[];
  readonly figures: readonly string[];
}

const measured: readonly Measured[] = [
  { args: ["lists"], figures: ["lists_25_invoices"] },
  { args: ["create"], figures: ["create_32_at_once", "create_1_at_once"] },
  { args: ["usage"], figures: ["usage_batch100", "usage_single"] },
  { args: ["renewals"], figures: ["renewals_10k"] },
  { args: ["webhooks", "500"], figures: ["webhooks_alive"] },
  { args: ["close", "1000"], figures: ["close_periods"] },
  { args: ["gateway"], figures: ["gateway_echo"] },
];

/**
 * Runs one measurement in a new process, which no other one has warmed up. A measurement that fails
 * fails the run.
 */
async function measure({ args, figures }: Measured): Promise<readonly Row[]> {
  const began = performance.now();
  const script = join(import.meta.dirname, "run.ts");
  const child = spawn(process.execPath, [script, ...args, "--short"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (part) => {
    output += part;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.error(`${args.join(" ")}: ${code === 0 ? "done" : "FAILED"} in ${seconds} s`);
  if (code !== 0) process.exitCode = 1;
  return readRows(output).filter(({ name }) => figures.includes(name));
}

function printTable(rows: readonly Row[], before: readonly Row[]): void {
  console.log("| work | figure | floor | ratio | kept |\n|-|-|-|-|-|");
  for (const { name, value, unit, floor, ratio } of rows) {
    const kept = before.find((row) => row.name === name)?.ratio.toFixed(3) ?? "";
    const cells = [name, `${value} ${unit}`, floor, ratio.toFixed(3), kept];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

function printWorse(worse: readonly WorseRow[]): void {
  for (const { name, before, now } of worse) {
    console.log(`worse: ${name}, ratio ${now ?? "missing"} after ${before}`);
  }
}

/** Returns the measurements that are named after `all`, or all of them. */
function wanted(): readonly Measured[] {
  const names = process.argv.slice(3).filter((name) => !name.startsWith("--"));
  const nameOf = ({ args }: Measured) => args[0] ?? "";
  const unknown = names.filter((name) => !measured.some((one) => nameOf(one) === name));
  assert.deepEqual(unknown, [], `choose from ${measured.map(nameOf).join(", ")}`);
  return measured.filter((one) => names.length === 0 || names.includes(nameOf(one)));
}

/** Measures all rows, prints them and compares them. */
export async function run(): Promise<void> {
  const kept = await lastKept();
  const chosen = wanted();
  const figures = chosen.flatMap((one) => one.figures);
  const before = (kept?.rows ?? []).filter(({ name }) => figures.includes(name));
  const rows: Row[] = [];
  for (const one of chosen) {
    const first = await measure(one);
    const suspects = worseRows(before, first).filter(({ name }) => one.figures.includes(name));
    rows.push(...(suspects.length > 0 ? betterRows(first, await measure(one)) : first));
  }
  printTable(rows, before);
  if (kept === null) console.log("nothing is kept to compare with");
  else console.log(`compared with ${kept.commit} of ${kept.date}`);
  const worse = worseRows(before, rows);
  printWorse(worse);
  if (worse.length > 0) process.exitCode = 1;
  if (process.argv.includes("--keep")) {
    console.log(`kept as bench/results/${await keep(await describeRun(rows))}`);
  }
}
