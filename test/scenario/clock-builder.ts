/**
 * Builder for tests of the test clock: a subscription's life, advances by an operator, and waiting
 * for the clock. CLOCK-1.
 */
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { type AdminAsk, askWith } from "../admin/services/request.ts";
import { type TestSystem, until } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { type LifeBuilder, lifeBuilder } from "./life-builder.ts";
import type { Json } from "./units-builder.ts";

/** Sandboxes and an operator who advances their clocks. */
export interface ClockBuilder extends LifeBuilder {
  readonly operator: AdminAsk;
  clock(organisation: CreatedOrganisation): Promise<Json>;
  /** Asks for an advance that is accepted; the clock as it is answered. */
  advance(organisation: CreatedOrganisation, by: object): Promise<Json>;
  /** The clock once it stands still again; fails if it stops on the way or goes back. */
  arrived(organisation: CreatedOrganisation): Promise<Json>;
  /** Advances, and waits until the clock is there. */
  advanced(organisation: CreatedOrganisation, by: object): Promise<Json>;
}

/**
 * An advancing clock moves many times a second. Each poll takes processor time from what moves it,
 * so polls become rarer on a long advance.
 */
const [pollMs, longMs, laterMs] = [100, 3_000, 500];

/** The builder over a system. */
export async function clockBuilder(system: TestSystem, ask: Ask): Promise<ClockBuilder> {
  const operator = askWith(system, await system.operator("admin"));
  const clock: ClockBuilder["clock"] = async ({ organisationId }) =>
    (await operator.done("TestClockService/GetTestClock", { organisation: organisationId }))
      .testClock;
  const advance: ClockBuilder["advance"] = async ({ organisationId }, by) =>
    (
      await operator.done("TestClockService/AdvanceTestClock", {
        organisation: organisationId,
        ...by,
      })
    ).testClock;
  const arrived: ClockBuilder["arrived"] = async (organisation) => {
    let shown = await clock(organisation);
    const began = performance.now();
    while (shown.state === "TEST_CLOCK_STATE_ADVANCING") {
      const { state, now } = shown;
      const isMoved = async () => {
        const next = await clock(organisation);
        return (next.state !== state || next.now !== now) && next;
      };
      const everyMs = performance.now() - began < longMs ? pollMs : laterMs;
      // An immediate poll would see no move yet.
      await wait(everyMs);
      shown = await until("the clock moves on", isMoved, everyMs);
      expect(shown.now >= now, "it goes forward").toBe(true);
    }
    return shown;
  };
  return {
    ...lifeBuilder(system, ask),
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
