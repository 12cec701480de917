/** A free place goes to the waiting group that holds the fewest. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFairPlaces } from "../../../src/transport/rpc/fair-places.ts";

/** Places with a record of what holds one and what waits. Each item is a number. */
function recorded(places: number, mostOfGroup: number) {
  const fair = createFairPlaces<number>({ places, mostOfGroup });
  const holding: { group: string; item: number }[] = [];
  const waiting: { group: string; item: number; isBegun: boolean; withdraw: () => boolean }[] = [];
  let count = 0;
  return {
    holding,
    waiting,
    enter: (group: string, isBegun = false) => {
      const item = count++;
      const withdraw = fair.enter(group, item, isBegun);
      if (withdraw === null) holding.push({ group, item });
      else waiting.push({ group, item, isBegun, withdraw });
      return item;
    },
    /** Returns the item that has the place now, with its group. */
    leave: (at: number) => {
      const [left] = holding.splice(at, 1);
      const item = fair.leave(left?.group ?? "");
      const place = waiting.findIndex((one) => one.item === item);
      const next = waiting.splice(place, place === -1 ? 0 : 1)[0] ?? null;
      if (next !== null) holding.push(next);
      return next;
    },
    withdraw: (at: number) => {
      const [gone] = waiting.splice(at, 1);
      return gone?.withdraw();
    },
    held: (group: string) => holding.filter((one) => one.group === group).length,
  };
}

describe("fair places", () => {
  test("no group waits for a place that a group with more places gets", () => {
    const step = fc.record({
      do: fc.constantFrom("enter", "enter", "resume", "leave", "withdraw"),
      group: fc.constantFrom("a", "b", "c", "d"),
      at: fc.nat(100),
    });
    const most = fc.tuple(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 5 }));
    fc.assert(
      fc.property(most, fc.array(step, { maxLength: 200 }), ([places, below], steps) => {
        const mostOfGroup = Math.min(below, places - 1);
        const all = recorded(places, mostOfGroup);
        for (const one of steps) {
          const { waiting, holding } = all;
          if (one.do === "enter" || one.do === "resume") all.enter(one.group, one.do === "resume");
          if (one.do === "withdraw" && waiting.length > 0)
            expect(all.withdraw(one.at % waiting.length)).toBe(true);
          if (one.do === "leave" && holding.length > 0) {
            const before = [...waiting];
            const next = all.leave(one.at % holding.length);
            if (next !== null) {
              // Before it got the place, no waiting group held fewer.
              const others = waiting.filter(({ group }) => group !== next.group);
              for (const { group } of others)
                expect(all.held(group)).toBeGreaterThanOrEqual(all.held(next.group) - 1);
              // Of its group it was the first, and what had begun came first.
              const own = before.filter(({ group }) => group === next.group);
              expect(next).toBe(own.find(({ isBegun }) => isBegun) ?? own[0]);
            }
          }
          expect(holding.length).toBeLessThanOrEqual(places);
          for (const { group } of [...holding, ...waiting])
            expect(all.held(group)).toBeLessThanOrEqual(mostOfGroup);
          // What waits cannot have a place: all are taken, or its group has its most.
          for (const { group } of waiting)
            expect(holding.length === places || all.held(group) === mostOfGroup).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("groups with as many places alternate", () => {
    const all = recorded(4, 3);
    for (const group of ["a", "b", "c", "d", "a", "a", "b", "b", "c", "c"]) all.enter(group);
    // The one of `d` ends, then always the oldest one, so that `a`, `b` and `c` have one each.
    expect([3, 0, 0, 0].map((at) => all.leave(at)?.group)).toEqual(["a", "b", "c", "a"]);
  });

  test("an item that was withdrawn never gets a place", () => {
    const all = recorded(2, 1);
    all.enter("a");
    all.enter("a");
    expect(all.withdraw(0)).toBe(true);
    expect(all.leave(0)).toBeNull();
  });
});
