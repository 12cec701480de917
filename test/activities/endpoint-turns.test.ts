/** Turns at endpoints: five at once at each, twenty in an organisation, and those who wait ask again one after the other. */
import { expect, test } from "vitest";
import {
  createEndpointTurns,
  type EndpointTurn,
  type EndpointTurns,
  organisationTurnsAtOnce,
  turnsAtOnce,
} from "../../src/activities/endpoint-turns.ts";

function clocked(): { turns: EndpointTurns; pass(ms: number): void } {
  let nowMs = 1_000;
  return {
    turns: createEndpointTurns(() => nowMs),
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

function takeAll(turns: EndpointTurns, endpointId: string, count: number, organisationId = "own"): EndpointTurn[] {
  return Array.from({ length: count }, () => turns.take(organisationId, endpointId));
}

const waits = (taken: readonly EndpointTurn[]) => taken.map((turn) => (turn.kind === "later" ? turn.inMs : null));

function end(turn: EndpointTurn | undefined, tookMs?: number): void {
  if (turn?.kind !== "taken") throw new Error("it is no turn");
  turn.end(tookMs);
}

test("an endpoint has five at once, and takes no turn from another", () => {
  const { turns } = clocked();
  const taken = takeAll(turns, "a", 7);
  expect(taken.map(({ kind }) => kind)).toEqual([...Array(5).fill("taken"), "later", "later"]);
  expect(turnsAtOnce).toBe(5);
  expect(turns.take("own", "b").kind).toBe("taken");
  end(taken[0]);
  expect(turns.take("own", "a").kind).toBe("taken");
  expect(turns.take("own", "a").kind).toBe("later");
});

test("an organisation has twenty at once, and one more only for an endpoint that has none", () => {
  const { turns } = clocked();
  const taken = ["a", "b", "c"].flatMap((endpointId) => takeAll(turns, endpointId, 5));
  taken.push(...takeAll(turns, "d", 4), turns.take("own", "e"));
  expect(taken.filter(({ kind }) => kind === "taken")).toHaveLength(organisationTurnsAtOnce);
  expect(organisationTurnsAtOnce).toBe(20);
  // All that a crowd of endpoints takes is one for each of them.
  const crowd = Array.from({ length: 15 }, (_, index) => takeAll(turns, `f${index}`, 5));
  for (const own of crowd) {
    expect(own.map(({ kind }) => kind)).toEqual(["taken", "later", "later", "later", "later"]);
  }
  // Of the sixty that were told to wait each asks again a little later, as the next one does.
  const [first = 0, second = 0] = waits(takeAll(turns, "d", 2)).map(Number);
  expect([first, second]).toEqual([305, 310]);
  expect(takeAll(turns, "z", 6, "other").map(({ kind }) => kind)).toEqual([...Array(5).fill("taken"), "later"]);
  for (const turn of crowd.map(([held]) => held)) end(turn);
  expect(turns.take("own", "e").kind).toBe("later");
  end(taken[0]);
  expect(turns.take("own", "e").kind).toBe("taken");
});

test("the more wait, the later each asks again, as fast as the endpoint answers", () => {
  const { turns, pass } = clocked();
  const taken = takeAll(turns, "a", 5);
  // What is not known is taken to answer in half a second: five at once are ten a second.
  expect(waits(takeAll(turns, "a", 3))).toEqual([100, 200, 300]);
  pass(250);
  expect(waits(takeAll(turns, "a", 1))).toEqual([150]);
  for (const turn of taken) end(turn, 15_000);
  expect(takeAll(turns, "a", 5).every(({ kind }) => kind === "taken")).toBe(true);
  const [next = 0, second = 0] = waits(takeAll(turns, "a", 2)).map(Number);
  expect(second - next).toBeGreaterThan(1_900);
  expect(second - next).toBeLessThan(3_000);
});

test("nobody asks again sooner than in a tenth of a second, and a fast endpoint's waits are short", () => {
  const { turns } = clocked();
  for (let round = 0; round < 50; round += 1) end(turns.take("own", "a"), 10);
  takeAll(turns, "a", 5);
  expect(waits(takeAll(turns, "a", 3))).toEqual([100, 100, 100]);
});

test("an attempt that sent nothing says nothing of how long the endpoint takes", () => {
  const { turns } = clocked();
  for (let round = 0; round < 50; round += 1) end(turns.take("own", "a"));
  takeAll(turns, "a", 5);
  expect(waits(takeAll(turns, "a", 2))).toEqual([100, 200]);
});

test("of a thousand endpoints those at which nobody is are forgotten, and no turn that is taken", () => {
  const { turns } = clocked();
  for (let round = 0; round < 50; round += 1) end(turns.take("own", "slow"), 15_000);
  takeAll(turns, "busy", 5);
  for (let endpoint = 0; endpoint < 1_000; endpoint += 1) end(turns.take("own", String(endpoint)), 1);
  expect(turns.take("own", "busy").kind).toBe("later");
  takeAll(turns, "slow", 5);
  // From the beginning again.
  expect(waits(takeAll(turns, "slow", 1))).toEqual([100]);
});
