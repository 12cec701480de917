/** Runs one measurement by its name: `npm run bench -- gateway` runs `bench/gateway.ts`. */
import { readdirSync } from "node:fs";

/**
 * A measurement: starts what it needs, prints its figures, and stops what it started. Rejects if
 * anything was lost.
 */
interface Measurement {
  run(): Promise<void>;
}

function names(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .filter((name) => name !== "run");
}

const name = process.argv[2] ?? "";
if (!names().includes(name)) {
  console.error(`Usage: npm run bench -- NAME, where NAME is one of: ${names().join(", ")}`);
  process.exitCode = 2;
} else {
  const measurement = (await import(`./${name}.ts`)) as Measurement;
  await measurement.run();
}
