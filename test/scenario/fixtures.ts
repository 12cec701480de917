/** The fixtures of scenario tests: builders over a system, whose answers are checked. */
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { endsBuilder } from "../faults/ends-builder.ts";
import { startApiProcess } from "../faults/processes.ts";
import { type Cleanup, perFile, stopInTime } from "../support/file-fixture.ts";
import { reusedSystemTest, systemTest } from "../support/fixtures.ts";
import type { TestSystem } from "../support/system.ts";
import { type Ask, checkedAsk } from "./checked-ask.ts";
import { clockBuilder } from "./clock-builder.ts";
import { type LifeBuilder, lifeBuilder } from "./life-builder.ts";
import { callsTo } from "./procedures.ts";
import { usageBuilder } from "./usage-builder.ts";

interface OnSystem {
  readonly system: TestSystem;
}
interface Asking extends OnSystem {
  readonly ask: Ask;
}

const ownOf = ({ system }: OnSystem) => system.organisation();
const askOf = ({ system }: OnSystem) => checkedAsk(system);
const callOf = ({ system }: OnSystem) => callsTo(system.baseUrl);
const builderOf = ({ system, ask }: Asking) => lifeBuilder(system, ask);
const clocksOf = ({ system, ask }: Asking) => clockBuilder(system, ask);
const endsOf = ({ system }: OnSystem) => endsBuilder(system);
const reportsOf = ({ ask }: Pick<Asking, "ask">) => usageBuilder(ask);
const secondOf = async ({ system }: OnSystem, { onCleanup }: Cleanup) => {
  const second = await startApiProcess(system);
  onCleanup(() => stopInTime(() => second.stop()));
  return second;
};

/** Creates an organisation on 16 April with renewal invoices 20 days ahead, in this status. */
const aheadOfIn =
  ({ builder }: { readonly builder: LifeBuilder }) =>
  async (status = "draft"): Promise<CreatedOrganisation> => {
    const organisation = await builder.sandbox({
      invoice_create_days: 20,
      first_invoice_status: status,
    });
    await builder.setClock(organisation, "2026-04-16");
    return organisation;
  };

/**
 * Scenarios on the reused system. `second` is another API process over the same database. A file
 * uses `builder` or `clocks`, whose sandboxes a test creates, or `own`, a live organisation.
 */
export const scenarioTest = reusedSystemTest
  .extend("own", perFile, ownOf)
  .extend("ask", perFile, askOf)
  .extend("call", perFile, callOf)
  .extend("builder", perFile, builderOf)
  .extend("aheadOf", perFile, aheadOfIn)
  .extend("clocks", perFile, clocksOf)
  .extend("ends", perFile, endsOf)
  .extend("reports", perFile, reportsOf)
  .extend("second", perFile, secondOf);

/** Scenarios on a new system, whose processes and ledger they may stop. */
export const aloneTest = systemTest
  .extend("own", perFile, ownOf)
  .extend("ask", perFile, askOf)
  .extend("call", perFile, callOf)
  .extend("builder", perFile, builderOf)
  .extend("clocks", perFile, clocksOf)
  .extend("ends", perFile, endsOf)
  .extend("reports", perFile, reportsOf)
  .extend("second", perFile, secondOf);
