/** A burst of objects that live long does not make later ones of the same place live long. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Prints the megabytes that short-lived objects add to the old generation, also if collected. */
const program = `
import { getHeapSpaceStatistics } from "node:v8";
const old = () =>
  getHeapSpaceStatistics().find((space) => space.space_name === "old_space").space_used_size / 1e6;
const create = (number) => [number, number + 1];
let burst = [];
for (let number = 0; number < 400_000; number++) burst.push(create(number));
burst = null;
let before = old();
let added = 0;
let sum = 0;
for (let number = 0; number < 2_000_000; number++) {
  sum += create(number).length;
  if (number % 1_000 === 0) {
    const now = old();
    added += Math.max(0, now - before);
    before = now;
  }
}
console.log(sum === 4_000_000 ? added : "wrong");
`;

/**
 * V8 decides so only once the space of new objects has its full size, here a megabyte. Unless
 * it is to be predictable, it compiles and collects on threads whose progress depends on the
 * machine.
 */
async function megabytes(start: string): Promise<number> {
  const code = ["--input-type=module", "--eval", `${start}\n${program}`];
  const flags = ["--max-semi-space-size=1", "--predictable"];
  const { stdout } = await run(process.execPath, [...flags, ...code]);
  return Number(stdout);
}

const heap = new URL("../../src/main/heap.ts", import.meta.url).href;

test("API and worker create short-lived objects as new ones, also after a burst", async () => {
  const tuned = await megabytes(`import { tuneHeap } from "${heap}"; tuneHeap();`);
  expect(tuned).toBeLessThan(3);
  expect(await megabytes(""), "without the setting they become old").toBeGreaterThan(4);
});
