/** Request ids are UUIDs of version 7: unique, and in the order of time. RFC 9562, 5.7. */
import { expect, test } from "vitest";
import { newRequestId } from "../../../src/transport/http/request-id.ts";

test("ids are of version 7, begin with the time, and are unique across pool fills", () => {
  const before = Date.now();
  const ids = Array.from({ length: 5_000 }, newRequestId);
  const after = Date.now();
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const timeMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    expect(timeMs).toBeGreaterThanOrEqual(before);
    expect(timeMs).toBeLessThanOrEqual(after);
  }
});

test("every random digit of an id takes each of its values, whatever the others are", () => {
  const ids = Array.from({ length: 8_000 }, () => newRequestId().replaceAll("-", ""));
  const valuesAt = (at: number) => new Set(ids.map((id) => id[at])).size;
  const random = [13, 14, 15, 16, ...Array.from({ length: 15 }, (_, index) => 17 + index)];
  expect(random.map(valuesAt)).toEqual(random.map((at) => (at === 16 ? 4 : 16)));
  for (const [index, one] of random.entries())
    for (const other of random.slice(index + 1)) {
      const pairs = new Set(ids.map((id) => `${id[one]}${id[other]}`)).size;
      expect(pairs, `digits ${one} and ${other}`).toBe(valuesAt(one) * valuesAt(other));
    }
});
