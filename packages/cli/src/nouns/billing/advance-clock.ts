/** Advances a test clock. With `--wait` it shows the progress until the advance is finished. */
import { TestClockService } from "../../../../../src/gen/proto/billing/admin/v1/test_clock_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { poll, waitSeconds } from "../../wait.ts";

const { method } = TestClockService;

/** The default of `--wait`: enough for two years of some thousand subscriptions. */
const defaultWaitSeconds = 300;

/** The interval between two reads: short enough to show progress. */
const pollEveryMs = 500;

/**
 * Advances the clock and returns it as it is then. With `--wait` it returns the clock once the
 * advance is finished or the time is up.
 */
export async function advanceClock({ terminal, connection, request, extra }: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  const clock = await callJson(connection, method.advanceTestClock, request);
  if (seconds === null) return clock;
  let shown = "";
  return poll(clock, {
    seconds,
    everyMs: pollEveryMs,
    isPending: ({ state }) => state === "advancing",
    read: () =>
      callJson(connection, method.getTestClock, { organisation: request.organisation ?? "" }),
    onPending: (current) => {
      const line = progressLine(current);
      if (line !== shown) terminal.err(`${line}\n`);
      shown = line;
    },
  });
}

/** A line of progress: `2027-03-31T11:00:00.000Z: 1200 performed, 1200 invoices issued`. */
function progressLine({ now, advance }: Json): string {
  const { performed, invoices_issued: issued } = isObject(advance) ? advance : {};
  return `${String(now)}: ${String(performed)} performed, ${String(issued)} invoices issued`;
}
