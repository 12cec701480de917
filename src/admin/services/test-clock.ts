/** TestClockService: shows a sandbox's clock and advances it. CLOCK-1 */
import { parseCivilDate } from "../../domain/calendar/civil-date.ts";
import { type ClockRequest, requireSandbox } from "../../domain/calendar/test-clock.ts";
import { Refusal } from "../../domain/refusal.ts";
import type {
  AdvanceTestClockRequest,
  TestClockService,
} from "../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { membersOf, presentTestClock } from "../present/present.ts";
import { readInstant } from "../present/read-values.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  required,
} from "./dependencies.ts";

/** Implements the service. Refuses `organisation_not_found`, and what `decideAdvance` refuses. */
export function testClockService({
  store,
  startClock,
}: AdminDependencies): AdminImplementation<typeof TestClockService> {
  const { testClock } = store;
  return {
    getTestClock: async ({ organisation }) => {
      const clock = required(await testClock.get(organisation), "organisation_not_found");
      requireSandbox(clock);
      return { testClock: presentTestClock(clock) };
    },
    previewAdvanceTestClock: async (request) => {
      const { organisation } = request;
      const preview = required(
        await testClock.preview(organisation, read(request)),
        "organisation_not_found",
      );
      return { ...membersOf(preview), totals: preview.totals.map(membersOf) };
    },
    advanceTestClock: async (request, call) => {
      const { organisation } = request;
      const clock = required(
        await testClock.advance(actorOf(call), organisation, read(request), request.previewedState),
        "organisation_not_found",
      );
      if (clock.state === "advancing") await startClock(clock.organisationId);
      return { testClock: presentTestClock(clock) };
    },
  };
}

function read({
  to,
  days,
  months,
}: Pick<AdvanceTestClockRequest, "to" | "days" | "months">): ClockRequest {
  if ([to, days, months].filter((value) => value !== undefined).length !== 1) {
    throw new Refusal("invalid_parameter", "Exactly one of to, days and months is required.");
  }
  if (days !== undefined) return { kind: "days", count: days };
  if (months !== undefined) return { kind: "months", count: months };
  const at = parseCivilDate(to ?? "") ?? readInstant(to ?? "");
  if (at !== null) return { kind: "to", to: at };
  const message = "to must be an instant with its offset, such as 2027-01-31T00:00:00Z, or a date";
  throw new Refusal("invalid_parameter", message, "to");
}
