/** The places of standing batches: one for each organisation, woken, reported and given back. */
import { expect, test } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import { createStandingBatches } from "../../../src/worker/activities/posting/standing-batches.ts";

const longMs = 60_000;

function open() {
  const reports: string[] = [];
  const batches = createStandingBatches(async (standing, ended) => {
    reports.push(...standing.map((id) => `stands ${id}`), ...ended.map((id) => `ended ${id}`));
  });
  return { batches, reports };
}

test("a standing batch wakes for its own organisation only", async () => {
  const { batches } = open();
  const place = batches.take("one");
  batches.wake("other");
  expect(await place?.sleep(1)).toBe(false);
  const sleeping = place?.sleep(longMs);
  batches.wake("one");
  expect(await sleeping).toBe(true);
});

test("a wake-up before the sleep is not missed, and one before the reading is over", async () => {
  const { batches } = open();
  const place = batches.take("one");
  batches.wake("one");
  expect(await place?.sleep(longMs)).toBe(true);
  place?.reading();
  expect(await place?.sleep(1)).toBe(false);
});

test("a batch that has worked is reported until it leaves its place", async () => {
  const { batches, reports } = open();
  const place = batches.take("one");
  expect(batches.take("one")).toBeNull();
  expect(reports).toEqual([]);
  place?.worked();
  place?.worked();
  expect(reports).toEqual(["stands one"]);
  await place?.leave();
  expect(reports).toEqual(["stands one", "ended one"]);
  expect(batches.take("one")).not.toBeNull();
});

test("standing batches leave half of a worker's activities free", () => {
  const { batches } = open();
  const places = Array.from({ length: 100 }, () => batches.take(newId()));
  expect(places.filter((place) => place !== null)).toHaveLength(50);
});

test("a stop wakes the standing batches, and no further one stands", async () => {
  const { batches } = open();
  const place = batches.take("one");
  const sleeping = place?.sleep(longMs);
  batches.stop();
  await sleeping;
  expect(place?.isStopping()).toBe(true);
  expect(batches.take("other")).toBeNull();
});

test("a batch that stands is reported as standing, with the result of its wait", async () => {
  const steps: string[] = [];
  const batches = createStandingBatches(
    async () => undefined,
    async (wait) => {
      steps.push("stands");
      return wait().finally(() => steps.push("goes on"));
    },
  );
  const place = batches.take("one");
  const stood = place?.stand(async () => {
    steps.push("waits");
    return "woken";
  });
  expect(await stood).toBe("woken");
  expect(steps).toEqual(["stands", "waits", "goes on"]);
});
