/**
 * The order of the files of a run. A clean clone knows no durations, and vitest orders its files by
 * their size. A slow file that begins last would leave a core idle at the end.
 */
import { BaseSequencer, type TestSpecification, type Vitest } from "vitest/node";

/** The files of more than half a minute, the slowest first. A name without a file does no harm. */
const slow = [
  "faults/clock-kills",
  "faults/restored-database",
  "store/writers/writers-together",
  "faults/usage-faults",
  "faults/end-faults",
  "faults/billing-faults",
  "faults/restore-faults",
  "additions",
  "faults/units-faults",
  "packages/generated-clients",
  "transport/http/limits/keyless-floods",
  "faults/credit-faults",
  "scenario/recorded-answers",
  "workflows/amendment-runs",
  "build/tarball",
  "faults/end-kills",
  "workflows/billing-continues",
  "faults/kill-at-every-step",
  "store/events/publish-kills",
].map((name) => `/test/${name}.system.test.ts`);

function rankOf({ moduleId }: TestSpecification): number {
  const rank = slow.findIndex((path) => moduleId.endsWith(path));
  return rank === -1 ? slow.length : rank;
}

/** vitest constructs it. The slow files come first among those of their project. */
export function SlowFilesFirst(vitest: Vitest): BaseSequencer {
  const sequencer = new BaseSequencer(vitest);
  const sort = sequencer.sort.bind(sequencer);
  sequencer.sort = async (files) =>
    (await sort(files)).sort((one, other) =>
      one.project.name === other.project.name ? rankOf(one) - rankOf(other) : 0,
    );
  return sequencer;
}
