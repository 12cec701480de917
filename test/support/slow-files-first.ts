/**
 * The order of the files of a run. A clean clone knows no durations, and vitest orders its files by
 * their size. A slow file that begins last would leave a core idle at the end.
 */
import { BaseSequencer, type TestSpecification, type Vitest } from "vitest/node";

/** The files of more than half a minute, the slowest first. A name without a file does no harm. */
const slow = [
  "faults/end-faults",
  "faults/clock-kills",
  "faults/usage-faults",
  "faults/credit-faults",
  "store/writers/writers-together",
  "faults/restore-faults",
  "faults/billing-faults",
  "workflows/encrypted-payloads",
  "faults/temporal-and-database-down",
  "faults/kill-at-every-step",
  "faults/units-faults",
  "workflows/posting-runs",
  "faults/units-ledger-faults",
  "faults/ledger-budget",
  "faults/break-off",
  "faults/ledger-faults",
  "faults/end-kills",
  "faults/restored-database",
  "workflows/amendment-runs",
  "store/ledger-jobs/abandoned-amendments-walk",
  "workflows/worker-versions",
  "admin/cli/operators-day",
  "additions",
  "packages/generated-clients",
  "build/image",
  "build/tarball",
  "packages/grpc-clients",
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
