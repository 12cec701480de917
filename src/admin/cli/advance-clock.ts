/** Advancing a test clock and, where that is wanted, showing how it comes on until it is there. */
import { setTimeout as wait } from "node:timers/promises";
import { TestClockService } from "../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { isObject, type Json } from "./message-json.ts";
import type { Work } from "./noun.ts";
import { callJson } from "./run-verb.ts";
import { waitSeconds } from "./wait-seconds.ts";

const { method } = TestClockService;

/** How long `--wait` waits where no seconds are given: two years of some thousand subscriptions. */
const defaultWaitSeconds = 300;

/** Between two looks: often enough to see it move. */
const lookEveryMs = 500;

/** Advances the clock and answers it as it is then; with `--wait` as it is once it is there, or the time is up. */
export async function advanceClock({ terminal, connection, request, extra }: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  let clock = await callJson(connection, method.advanceTestClock, request);
  if (seconds === null) return clock;
  const end = performance.now() + seconds * 1000;
  let shown = "";
  while (clock.state === "advancing" && performance.now() < end) {
    const line = progressLine(clock);
    if (line !== shown) terminal.err(`${line}\n`);
    shown = line;
    await wait(lookEveryMs);
    clock = await callJson(connection, method.getTestClock, { organisation: request.organisation ?? "" });
  }
  return clock;
}

/** `2027-03-31T11:00:00.000Z: 1200 performed, 1200 invoices raised`. */
function progressLine({ now, advance }: Json): string {
  const { performed, invoices_issued: raised } = isObject(advance) ? advance : {};
  return `${String(now)}: ${String(performed)} performed, ${String(raised)} invoices raised`;
}
