/** The places of lingering batches: one for each organisation, woken and given back. */
import { expect, test } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import { createLingeringPlaces } from "../../../src/worker/activities/posting/lingering-places.ts";

const longMs = 60_000;

test("a lingering batch wakes for its own organisation only", async () => {
  const batches = createLingeringPlaces();
  const place = batches.take("one");
  batches.wake("other");
  expect(await place?.sleep(1)).toBe(false);
  const sleeping = place?.sleep(longMs);
  batches.wake("one");
  expect(await sleeping).toBe(true);
});

test("a wake-up before the sleep is not missed, and one before the reading is over", async () => {
  const batches = createLingeringPlaces();
  const place = batches.take("one");
  batches.wake("one");
  expect(await place?.sleep(longMs)).toBe(true);
  place?.reading();
  expect(await place?.sleep(1)).toBe(false);
});

test("an organisation has one place, which another batch gets once it is left", () => {
  const batches = createLingeringPlaces();
  const place = batches.take("one");
  expect(batches.take("one")).toBeNull();
  place?.leave();
  expect(batches.take("one")).not.toBeNull();
});

test("lingering batches leave half of a worker's activities free", () => {
  const batches = createLingeringPlaces();
  const places = Array.from({ length: 100 }, () => batches.take(newId()));
  expect(places.filter((place) => place !== null)).toHaveLength(50);
});

test("a stop wakes the lingering batches, and no further one lingers", async () => {
  const batches = createLingeringPlaces();
  const place = batches.take("one");
  const sleeping = place?.sleep(longMs);
  batches.stop();
  await sleeping;
  expect(place?.isStopping()).toBe(true);
  expect(batches.take("other")).toBeNull();
});
