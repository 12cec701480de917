/** The bounds of V8's spaces in a process that has much work. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/**
 * Creates objects that all survive for a while, 2 MB at a time, and prints the largest size of the
 * space. With the pause, less than one half of the space is created between two checks.
 */
const surviving = `
import { getHeapSpaceStatistics } from "node:v8";
import { setTimeout as wait } from "node:timers/promises";
const workMs = 60;
const size = () =>
  getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
const work = async (pauseMs, batches, enough) => {
  const living = [];
  let number = 0;
  let most = 0;
  for (let batch = 0; batch < batches && most < enough; batch++) {
    const untilMs = performance.now() + workMs;
    for (let count = 0; count < 20_000; count++) {
      living[number % 40_000] = { number, values: [number, number + 1] };
      number += 1;
    }
    while (performance.now() < untilMs);
    most = Math.max(most, size());
    await wait(pauseMs);
  }
  return most;
};
`;

/** Prints the largest heap while objects become old and die, and 50 MB stay. */
const dying = `
import { getHeapStatistics } from "node:v8";
const staying = [];
for (let number = 0; number < 350_000; number++) staying.push({ number, texts: ["" + number] });
const living = new Array(20_000).fill(null);
let most = 0;
for (let number = 0; number < 2_000_000; number++) {
  living[number % living.length] = { number, values: [number, number + 1] };
  if (number % 20_000 === 0) most = Math.max(most, getHeapStatistics().total_heap_size);
}
console.log(staying.length === 350_000 ? most : "wrong");
`;

const heap = new URL("../../src/main/heap.ts", import.meta.url).href;

/** Half of what V8 itself gives to this program on every machine. */
const mostBytes = 16 * 2 ** 20;

const tuned = `const { tuneHeap } = await import("${heap}"); tuneHeap(0, ${mostBytes});`;

async function printed(code: string, flags: readonly string[]): Promise<number> {
  const start = ["--input-type=module", "--eval", code];
  const { stdout } = await run(process.execPath, [...flags, ...start]);
  return Number(stdout);
}

test("the space of new objects grows to its bound and no further", async () => {
  // The bound of V8 itself depends on its version and on the memory of the machine.
  const flags = ["--max-semi-space-size=32"];
  const most = await printed(
    `${surviving} ${tuned} console.log(await work(60, 40, Infinity));`,
    flags,
  );
  expect(most).toBe(mostBytes);
  const rest = `console.log(await work(0, 2_000, ${mostBytes + 1}));`;
  const unbounded = await printed(`${surviving} ${rest}`, flags);
  expect(unbounded, "without the setting").toBeGreaterThan(mostBytes);
});

test("the old generation is collected before it is a multiple of what lives", async () => {
  const flags = ["--max-semi-space-size=1"];
  const bounded = await printed(`${tuned} ${dying}`, flags);
  const unbounded = await printed(dying, flags);
  expect(bounded).toBeLessThan(0.7 * unbounded);
});
