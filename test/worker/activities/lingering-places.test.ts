/** The places of lingering batches: one for each organisation, woken, reported and given back. */
import { expect, test } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import { createLingeringPlaces } from "../../../src/worker/activities/posting/lingering-places.ts";

const longMs = 60_000;

function open() {
  const reports: string[] = [];
  const batches = createLingeringPlaces(async (lingering, ended) => {
    reports.push(...lingering.map((id) => `lingers ${id}`), ...ended.map((id) => `ended ${id}`));
  });
  return { batches, reports };
}

test("a lingering batch wakes for its own organisation only", async () => {
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
  expect(reports).toEqual(["lingers one"]);
  await place?.leave();
  expect(reports).toEqual(["lingers one", "ended one"]);
  expect(batches.take("one")).not.toBeNull();
});

test("lingering batches leave half of a worker's activities free", () => {
  const { batches } = open();
  const places = Array.from({ length: 100 }, () => batches.take(newId()));
  expect(places.filter((place) => place !== null)).toHaveLength(50);
});

test("a stop wakes the lingering batches, and no further one lingers", async () => {
  const { batches } = open();
  const place = batches.take("one");
  const sleeping = place?.sleep(longMs);
  batches.stop();
  await sleeping;
  expect(place?.isStopping()).toBe(true);
  expect(batches.take("other")).toBeNull();
});

test("a batch that lingers is reported as lingering, with the result of its wait", async () => {
  const steps: string[] = [];
  const batches = createLingeringPlaces(
    async () => undefined,
    async (wait) => {
      steps.push("lingers");
      return wait().finally(() => steps.push("goes on"));
    },
  );
  const place = batches.take("one");
  const lingered = place?.linger(async () => {
    steps.push("waits");
    return "woken";
  });
  expect(await lingered).toBe("woken");
  expect(steps).toEqual(["lingers", "waits", "goes on"]);
});
