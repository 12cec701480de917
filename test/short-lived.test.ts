/** A list and a Map for what comes and goes behave as an array and as V8's Map. */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createShortLivedList, createShortLivedMap } from "../src/short-lived.ts";

const step = fc.record({
  do: fc.constantFrom("set", "set", "delete", "deleteOldest", "clear", "read"),
  key: fc.integer({ min: 0, max: 60 }).map(String),
  value: fc.nat(),
});

describe("a Map of short-lived entries", () => {
  test("has the entries, the order and the answers of a Map", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const ours = createShortLivedMap<number>();
        const plain = new Map<string, number>();
        for (const { do: what, key, value } of steps) {
          if (what === "set") {
            ours.set(key, value);
            plain.set(key, value);
          }
          if (what === "delete") expect(ours.delete(key)).toBe(plain.delete(key));
          if (what === "deleteOldest") {
            ours.deleteOldest();
            const [oldest] = plain.keys();
            if (oldest !== undefined) plain.delete(oldest);
          }
          // Rarely, so that the Map also grows.
          if (what === "clear" && value % 10 === 0) {
            ours.clear();
            plain.clear();
          }
          expect(ours.get(key)).toBe(plain.get(key));
          expect(ours.has(key)).toBe(plain.has(key));
          expect(ours.size).toBe(plain.size);
        }
        expect([...ours]).toEqual([...plain]);
        expect([...ours.keys()]).toEqual([...plain.keys()]);
        expect([...ours.values()]).toEqual([...plain.values()]);
      }),
    );
  });

  test("an entry that is removed and added again during an iteration comes last", () => {
    const map = createShortLivedMap<number>();
    for (const key of ["a", "b", "c"]) map.set(key, 1);
    const seen: string[] = [];
    for (const [key, count] of map) {
      seen.push(key);
      map.delete(key);
      // More are added than a list keeps of removed places.
      if (count < 50) map.set(key, count + 1);
    }
    expect(seen).toEqual(Array.from({ length: 50 }, () => ["a", "b", "c"]).flat());
    expect(map.size).toBe(0);
  });
});

describe("a list of short-lived items", () => {
  test("has its items in the order of their arrival", () => {
    const change = fc.record({
      do: fc.constantFrom("add", "add", "remove", "shift", "removeWhere"),
      at: fc.nat(1_000),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
        const ours = createShortLivedList<{ readonly at: number }>();
        let plain: { item: { readonly at: number }; place: ReturnType<typeof ours.add> }[] = [];
        for (const { do: what, at } of changes) {
          const item = { at };
          if (what === "add") plain.push({ item, place: ours.add(item) });
          if (what === "remove" && plain.length > 0) {
            const [removed] = plain.splice(at % plain.length, 1);
            if (removed === undefined) continue;
            expect(ours.remove(removed.place)).toBe(true);
            expect(ours.remove(removed.place), "a second time").toBe(false);
          }
          if (what === "shift") expect(ours.shift()).toBe(plain.shift()?.item);
          if (what === "removeWhere" && at % 10 === 0) {
            ours.removeWhere((one) => one.at % 2 === 0);
            plain = plain.filter((one) => one.item.at % 2 !== 0);
          }
          expect(ours.size).toBe(plain.length);
        }
        expect([...ours]).toEqual(plain.map(({ item }) => item));
      }),
    );
  });
});

describe("memory", () => {
  // As in API and worker.
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString("--expose-gc");
  const collect: (options: { readonly type: "minor" }) => void = runInNewContext("gc");

  const oldMb = () =>
    (getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")
      ?.space_used_size ?? 0) / 1e6;

  /** Megabytes that the old generation has gained after 40,000 items of 1.6 KB. */
  function growth(work: (key: string, item: object) => void): number {
    const one = (number: number) => work(String(number % 2), { load: new Array(200).fill(number) });
    for (let number = 0; number < 2_000; number++) one(number);
    // As after a quiet time: what is there becomes old.
    for (let times = 0; times < 4; times++) collect({ type: "minor" });
    const before = oldMb();
    for (let number = 0; number < 40_000; number++) {
      one(number);
      if (number % 2_000 === 0) collect({ type: "minor" });
    }
    return oldMb() - before;
  }

  test("what was removed is not kept by what came later", () => {
    const ours = createShortLivedMap<object>();
    const kept = growth((key, item) => {
      ours.set(key, item);
      if (ours.size > 1) ours.deleteOldest();
    });
    expect(kept).toBeLessThan(2);
  });
});
