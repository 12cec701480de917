/** `billing clock`: the test clock of a sandbox. CLOCK-1 */
import { TestClockService } from "../../../../../src/gen/proto/billing/admin/v1/test_clock_pb.ts";
import { type Noun, previewedStateText } from "../../noun.ts";
import { advanceClock } from "./advance-clock.ts";
import { advanceLines } from "./preview-lines.ts";

const { method } = TestClockService;

const target = {
  to:
    "an instant (2027-01-31T00:00:00Z), or a date: the beginning of that day in the " +
    "organisation's timezone",
  days: "by this number of days",
  months: "by this number of months",
};

/** Shows and advances the clock. */
export const clock: Noun = {
  name: "clock",
  summary: "Show a sandbox's test clock and advance it",
  verbs: [
    {
      name: "get",
      method: method.getTestClock,
      summary: "Show the clock's time, and the progress of an advance.",
      examples: ["clock get", "clock get --json"],
    },
    {
      name: "preview-advance",
      method: method.previewAdvanceTestClock,
      lines: advanceLines,
      summary: "Show what falls due on the way of an advance, and what it bills by currency.",
      details: "Nothing is changed. At most 500 subscriptions are read, the earliest due first.",
      examples: ["clock preview-advance --months 1", "clock preview-advance --to 2028-02-29"],
      fields: target,
    },
    {
      name: "advance",
      method: method.advanceTestClock,
      summary: "Advance the clock and perform everything that falls due on the way, in order.",
      details:
        "It goes forward only, by five years at most at once. Documents go to the ledger within " +
        "the " +
        "ledger's limits, and the clock does not wait for them. With --wait the command ends " +
        "when " +
        "the advance is finished. It exits with 1 if the time is up before.",
      examples: [
        "clock advance --months 1 --wait",
        "clock advance --days 14",
        "clock advance --to 2028-02-29 --wait 600",
      ],
      fields: { ...target, previewed_state: previewedStateText },
      extra: [
        {
          flags: "--wait [seconds]",
          description:
            "wait until the advance is finished and show its progress, by default at most 300 " +
            "seconds",
        },
      ],
      work: advanceClock,
      failed: ({ state }, { wait }) => wait !== undefined && state === "advancing",
    },
  ],
};
