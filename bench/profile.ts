/**
 * Profiles another measurement: `npm run bench -- profile create`. Processor profiles of API,
 * worker, demo ledger and the bench itself, the processor time of each part, and the statements of
 * the service as PostgreSQL counted them. It begins when the system has started and ends before its
 * stop. The profiles, whole statements and slow plans stay in a folder that git ignores.
 */
import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cpuSecondsByPart, type Part } from "./support/cpu.ts";
import { readProfile, type Share } from "./support/probe/cpu-profile.ts";
import { obey, type ProbeReading } from "./support/probe/inside.ts";
import { type Observed, observe } from "./support/probe/observer.ts";
import {
  readSequentialReads,
  readStatements,
  resetSequentialReads,
  resetStatements,
  type SequentialReads,
  type StatementCost,
  sampleWaits,
  shortText,
  type WaitSampler,
} from "./support/probe/statements.ts";

/** Statements that take longer are written with their plan. */
const slowMs = 100;

/** Lines of each table. */
const most = {
  functions: 25,
  packages: 12,
  totals: 20,
  statements: 20,
  tables: 8,
  waits: 15,
} as const;

/** A thread that did less says nothing. */
const leastBusyMs = 50;

const profiles = fileURLToPath(new URL("../.data/profiles/", import.meta.url));

function printShares(title: string, shares: readonly Share[], busyMs: number, count: number): void {
  console.log(`  ${title}`);
  for (const { name, ms } of shares.slice(0, count)) {
    console.log(`  ${percent(ms, busyMs)} ${fixed(ms, 0, 8)} ms  ${name}`);
  }
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1).padStart(5)} %`;
}

function fixed(value: number, digits: number, width: number): string {
  return value.toFixed(digits).padStart(width);
}

async function printProfile(name: string, file: string): Promise<void> {
  const sums = await readProfile(file);
  if (sums.busyMs < leastBusyMs) return;
  const seconds = (sums.elapsedMs / 1_000).toFixed(1);
  console.log(`\n${name}: busy ${percent(sums.busyMs, sums.elapsedMs).trim()} of ${seconds} s`);
  printShares("by package, self", sums.packages, sums.busyMs, most.packages);
  printShares("by function, self", sums.functions, sums.busyMs, most.functions);
  printShares("our functions, with what they call", sums.ownTotals, sums.busyMs, most.totals);
}

function printStatements(title: string, statements: readonly StatementCost[]): void {
  const allMs = statements.reduce((sum, { totalMs }) => sum + totalMs, 0);
  const planMs = statements.reduce((sum, one) => sum + one.planMs, 0);
  const calls = statements.reduce((sum, one) => sum + one.calls, 0);
  const all = `${calls} calls, ${allMs.toFixed(0)} ms and ${planMs.toFixed(0)} ms of planning`;
  console.log(`\n${title}: ${all}`);
  console.log(
    "   share  total ms    calls    plan    mean     max   rows  buffers  WAL B  statement",
  );
  for (const one of statements.slice(0, most.statements)) {
    const each = [
      percent(one.totalMs, allMs),
      fixed(one.totalMs, 0, 9),
      fixed(one.calls, 0, 8),
      fixed(one.planMs / one.calls, 3, 7),
      fixed(one.meanMs, 3, 7),
      fixed(one.maxMs, 1, 7),
      fixed(one.rows / one.calls, 1, 6),
      fixed(one.buffers / one.calls, 1, 8),
      fixed(one.walBytes / one.calls, 0, 6),
    ];
    console.log(`${each.join(" ")}  ${shortText(one.text, 110)}`);
  }
}

/** A plan that is right for few rows reads a whole table, and costs more with every row of it. */
function printSequentialReads(tables: readonly SequentialReads[]): void {
  console.log("\nread without an index\n   scans        rows  table");
  for (const { table, scans, rows } of tables)
    console.log(`${fixed(scans, 0, 8)} ${fixed(rows, 0, 11)}  ${table}`);
}

async function printWaits(sampler: WaitSampler): Promise<void> {
  const { taken, shares } = await sampler.stop();
  console.log(`\nwhat connections did, in ${taken} samples`);
  for (const { wait, text, samples } of shares.slice(0, most.waits)) {
    console.log(`${fixed(samples, 0, 8)}  ${wait.padEnd(24)}  ${shortText(text, 110)}`);
  }
}

/** Whole statements, as PostgreSQL normalised them, with what each call cost. */
function wholeStatements(statements: readonly StatementCost[]): string {
  const heads = statements.map(
    (one) =>
      `-- ${one.calls} calls, mean ${one.meanMs.toFixed(3)} ms, max ${one.maxMs.toFixed(1)} ms, ` +
      `${(one.buffers / one.calls).toFixed(1)} buffers, ${(one.walBytes / one.calls).toFixed(0)} ` +
      `bytes of WAL a call${one.isTop ? "" : ", within a function"}\n${one.text};\n`,
  );
  return heads.join("\n");
}

function printParts(before: Readonly<Record<Part, number>>): void {
  const after = cpuSecondsByPart();
  console.log("\nprocessor seconds");
  for (const [part, seconds] of Object.entries(after)) {
    const used = seconds - before[part as Part];
    if (used >= 0.05) console.log(`  ${fixed(used, 2, 8)}  ${part}`);
  }
}

function nameOf({ program, threadId, pid }: ProbeReading): string {
  return `${program}${threadId === 0 ? "" : `, thread ${threadId}`} (process ${pid})`;
}

/** Observes each system of the measurement. Its profiles are in a folder with its number. */
function observeInto(folder: string): void {
  let before: Readonly<Record<Part, number>> | null = null;
  let sampler: WaitSampler | null = null;
  let systems = 0;
  const begin = async ({ pool, probes, role }: Observed) => {
    systems += 1;
    await probes?.send({ do: "start profile" });
    await obey({ do: "start profile" });
    before = cpuSecondsByPart();
    await resetStatements(pool);
    await resetSequentialReads(pool);
    sampler = await sampleWaits(pool.options.connectionString ?? "", role);
  };
  const end = async ({ pool, probes, role, postgresLog }: Observed) => {
    if (before === null || sampler === null) return;
    const statements = await readStatements(pool, role);
    const tables = await readSequentialReads(pool, most.tables);
    printParts(before);
    before = null;
    const into = join(folder, String(systems));
    await mkdir(into, { recursive: true });
    const own = join(into, "bench.cpuprofile");
    await obey({ do: "stop profile", file: own });
    const readings = (await probes?.stopProfiles(into)) ?? [];
    for (const reading of readings) {
      const file = join(into, `${reading.pid}-${reading.threadId}.cpuprofile`);
      await printProfile(nameOf(reading), file);
    }
    if (probes === null) await printProfile("bench, which does the work itself", own);
    printStatements(
      "statements",
      statements.filter(({ isTop }) => isTop),
    );
    printStatements(
      "statements within functions and triggers",
      statements.filter(({ isTop }) => !isTop),
    );
    printSequentialReads(tables);
    await printWaits(sampler);
    await writeFile(join(into, "statements.sql"), wholeStatements(statements));
    await copyFile(postgresLog, join(into, "slow-plans.log"));
  };
  observe({ slowMs, begin, end });
}

/** Runs the named measurement under the profiler. Its own arguments follow its name. */
export async function run(): Promise<void> {
  const [name = ""] = process.argv.splice(3, 1);
  const names = (await readdir(import.meta.dirname)).filter((file) => file.endsWith(".ts"));
  const others = names.filter((file) => file !== "run.ts" && file !== "profile.ts");
  assert(others.includes(`${name}.ts`), "Usage: npm run bench -- profile NAME, of a measurement");
  const started = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const folder = join(profiles, `${name}-${started}`);
  await mkdir(folder, { recursive: true });
  observeInto(folder);
  const measurement = (await import(`./${name}.ts`)) as { run(): Promise<void> };
  await obeyWithout(name, folder, measurement.run);
  console.log(`\nprofiles, whole statements and slow plans: ${folder}`);
}

/** A measurement without a system works in this process alone. */
async function obeyWithout(name: string, folder: string, work: () => Promise<void>): Promise<void> {
  if (name !== "gateway") return work();
  const file = join(folder, "bench.cpuprofile");
  await obey({ do: "start profile" });
  await work();
  await obey({ do: "stop profile", file });
  await printProfile("bench, which does the work itself", file);
}
