/**
 * The order of the files of a run. A clean clone knows no durations, and vitest orders its files by
 * their size. A slow file waits most of its time, for leases and for late answers. Several at once
 * would leave the cores idle, and so would one that begins last.
 */
import { BaseSequencer, type TestSpecification, type Vitest } from "vitest/node";

/** The files of more than half a minute, the slowest first. A name without a file does no harm. */
const slow = [
  "faults/end-faults",
  "faults/restore-faults",
  "faults/clock-kills",
  "faults/credit-faults",
  "store/writers/writers-together",
  "faults/billing-faults",
  "faults/units-faults",
  "faults/usage-faults",
  "workflows/webhook-runs",
  "faults/end-kills",
  "workflows/amendment-runs",
  "faults/temporal-and-database-down",
  "workflows/encrypted-payloads",
  "faults/kill-at-every-step",
  "faults/units-ledger-faults",
  "workflows/schedules",
  "admin/operators-day",
  "workflows/ledger-posting",
  "faults/ledger-faults",
  "workflows/posting-runs",
  "faults/previous-version",
  "faults/ledger-budget",
  "faults/break-off",
  "workflows/worker-versions",
  "faults/restored-database",
  "faults/lost-commits",
  "additions",
  "packages/generated-clients",
  "build/tarball",
  "build/image",
  "packages/grpc-clients",
].map((name) => `/test/${name}.system.test.ts`);

function rankOf({ moduleId }: TestSpecification): number {
  const rank = slow.findIndex((path) => moduleId.endsWith(path));
  return rank === -1 ? slow.length : rank;
}

/** Puts the slow files of a project among the others, each before an equal share of them. */
function spread(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const first = files
    .filter((file) => rankOf(file) < slow.length)
    .sort((one, other) => rankOf(one) - rankOf(other));
  const others = files.filter((file) => rankOf(file) === slow.length);
  const share = Math.ceil(others.length / (first.length + 1));
  return first
    .flatMap((file, index) => [file, ...others.slice(index * share, (index + 1) * share)])
    .concat(others.slice(first.length * share));
}

/** vitest constructs it. Projects run one after the other, in their own order. */
export function SlowFilesSpread(vitest: Vitest): BaseSequencer {
  const sequencer = new BaseSequencer(vitest);
  const sort = sequencer.sort.bind(sequencer);
  sequencer.sort = async (files) =>
    [...Map.groupBy(await sort(files), ({ project }) => project.name).values()].flatMap(spread);
  return sequencer;
}
