/**
 * The cost of a work at one size against that at the first size: processor time of the service and
 * PostgreSQL, and the pages that the work read, changed and logged.
 */
import { cpuSecondsByPart } from "../cpu.ts";
import { printFigure } from "../figure.ts";
import { type LoggedPages, logPosition, readLoggedPages } from "../probe/logged-pages.ts";
import { readStatements, resetStatements, shortText } from "../probe/statements.ts";
import type { MeasuredSystem } from "../system.ts";

/** A system among several, with the processes that were started for it. */
export interface CountedSystem {
  readonly system: MeasuredSystem;
  readonly processes: ReadonlySet<number>;
}

/** The cost of one piece of work. */
interface Cost {
  readonly cpuMs: number;
  readonly postgresMs: number;
  readonly statementMs: number;
  readonly buffers: number;
  readonly readBuffers: number;
  readonly readMs: number;
  readonly walRecords: number;
  readonly walPages: number;
  readonly walKilobytes: number;
}

/** The figures of a cost, with their units. */
const costs = [
  ["cpuMs", "cpu", "cpu-ms"],
  ["postgresMs", "postgresql", "cpu-ms"],
  ["statementMs", "statements", "ms"],
  ["buffers", "buffers", "pages"],
  ["readBuffers", "read", "pages"],
  ["readMs", "reading", "ms"],
  ["walRecords", "wal", "records"],
  ["walPages", "wal_whole", "pages"],
  ["walKilobytes", "wal_size", "KiB"],
] as const satisfies readonly (readonly [keyof Cost, string, string])[];

/** Statements whose mean grew by more than this are printed. */
const aim = 1.3;

/** Tables and indexes of a work with so many whole pages in the log are printed. */
const printedRelations = 12;

/**
 * What a step came to: its cost, the pages that it changed, and the mean time and pages of each
 * statement by its text.
 */
export interface Measured {
  readonly cost: Cost;
  readonly logged: readonly LoggedPages[];
  readonly statements: ReadonlyMap<string, { readonly calls: number; readonly buffers: number }>;
}

/** Performs a work that has so many pieces, right after a checkpoint. Returns what each came to. */
export async function measure(
  { system: { pool }, processes }: CountedSystem,
  count: number,
  work: () => Promise<unknown>,
): Promise<Measured> {
  await pool.query("CHECKPOINT");
  await resetStatements(pool);
  const from = await logPosition(pool);
  const before = cpuSecondsByPart(processes);
  await work();
  const after = cpuSecondsByPart(processes);
  const to = await logPosition(pool);
  const statements = await readStatements(pool, "postgres");
  const top = statements.filter(({ isTop }) => isTop);
  const sum = (of: (one: (typeof top)[number]) => number) =>
    top.reduce((total, one) => total + of(one), 0) / count;
  const used = (part: "postgresql" | "api" | "worker") =>
    (1_000 * (after[part] - before[part])) / count;
  return {
    cost: {
      cpuMs: used("postgresql") + used("api") + used("worker"),
      postgresMs: used("postgresql"),
      statementMs: sum(({ totalMs }) => totalMs),
      buffers: sum(({ buffers }) => buffers),
      readBuffers: sum(({ readBuffers }) => readBuffers),
      readMs: sum(({ readMs }) => readMs),
      walRecords: sum(({ walRecords }) => walRecords),
      walPages: sum(({ walPages }) => walPages),
      walKilobytes: sum(({ walBytes }) => walBytes) / 1_024,
    },
    logged: (await readLoggedPages(pool, from, to)).map(({ name, whole, distinct }) => ({
      name,
      whole: whole / count,
      distinct: distinct / count,
    })),
    statements: new Map(
      statements.map(({ text, calls, buffers }) => [text, { calls, buffers: buffers / calls }]),
    ),
  };
}

/** Prints the cost of a work, and what grew, against that at the first size. */
export function printGrowth(work: string, step: string, now: Measured, first: Measured): void {
  for (const [key, name, unit] of costs) {
    const floor = first.cost[key] > 0 ? first.cost[key] : undefined;
    printFigure(`growth_${work}_${name}_${step}`, now.cost[key], unit, floor);
  }
  for (const { name, whole, distinct } of now.logged.slice(0, printedRelations)) {
    if (whole < 0.1) continue;
    console.log(`  changed: ${whole.toFixed(2)} whole of ${distinct.toFixed(2)} pages: ${name}`);
  }
  for (const [text, { calls, buffers }] of now.statements) {
    const before = first.statements.get(text);
    if (before === undefined || calls < 10 || buffers < 20) continue;
    const ratio = buffers / before.buffers;
    if (ratio < aim) continue;
    const pages = `${before.buffers.toFixed(0)} to ${buffers.toFixed(0)} pages a call`;
    console.log(`  grew: ${pages}, ${calls} calls: ${shortText(text, 110)}`);
  }
}
