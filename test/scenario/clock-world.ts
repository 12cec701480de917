/**
 * What tests of the test clock share, over the world of a subscription's life: advances by an operator, and waiting for
 * the clock.
 */
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { MadeOrganisation } from "../../src/dev/local-stack/demo/first-data.ts";
import { type AdminAsk, askWith } from "../admin/services/request.ts";
import { type TestSystem, until } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { type LifeWorld, lifeWorld } from "./life-world.ts";
import type { Json } from "./units-world.ts";

/** Sandboxes and an operator who advances their clocks. */
export interface ClockWorld extends LifeWorld {
  readonly operator: AdminAsk;
  clock(organisation: MadeOrganisation): Promise<Json>;
  /** Asks for an advance that is accepted; the clock as it is answered. */
  advance(organisation: MadeOrganisation, by: object): Promise<Json>;
  /** The clock once it stands again; fails where it stops on the way, or goes back. */
  arrived(organisation: MadeOrganisation): Promise<Json>;
  /** Advances, and waits until the clock is there. */
  advanced(organisation: MadeOrganisation, by: object): Promise<Json>;
}

/** A clock on its way moves many times a second: looking at each step takes from what moves it, the more the longer its way is. */
const [lookMs, longMs, laterMs] = [100, 3_000, 500];

/** The world over a system. */
export async function clockWorld(system: TestSystem, ask: Ask): Promise<ClockWorld> {
  const operator = askWith(system, await system.operator("admin"));
  const clock: ClockWorld["clock"] = async ({ organisationId }) =>
    (await operator.done("TestClockService/GetTestClock", { organisation: organisationId }))
      .testClock;
  const advance: ClockWorld["advance"] = async ({ organisationId }, by) =>
    (
      await operator.done("TestClockService/AdvanceTestClock", {
        organisation: organisationId,
        ...by,
      })
    ).testClock;
  const arrived: ClockWorld["arrived"] = async (organisation) => {
    let shown = await clock(organisation);
    const began = performance.now();
    while (shown.state === "TEST_CLOCK_STATE_ADVANCING") {
      const { state, now } = shown;
      const isMoved = async () => {
        const next = await clock(organisation);
        return (next.state !== state || next.now !== now) && next;
      };
      const everyMs = performance.now() - began < longMs ? lookMs : laterMs;
      // It will have moved by a look at once.
      await wait(everyMs);
      shown = await until("the clock moves on", isMoved, everyMs);
      expect(shown.now >= now, "it goes forward").toBe(true);
    }
    return shown;
  };
  return {
    ...lifeWorld(system, ask),
    operator,
    clock,
    advance,
    arrived,
    advanced: async (organisation, by) => {
      await advance(organisation, by);
      return arrived(organisation);
    },
  };
}
