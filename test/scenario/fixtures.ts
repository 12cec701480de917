/** The fixtures of scenario tests: builders over a system, whose answers are checked. */
import { reusedSystemTest, systemTest } from "../support/fixtures.ts";
import { checkedAsk } from "./checked-ask.ts";
import { clockBuilder } from "./clock-builder.ts";
import { lifeBuilder } from "./life-builder.ts";
import { usageBuilder } from "./usage-builder.ts";

/** Scenarios on the reused system. */
export const scenarioTest = reusedSystemTest
  .extend("ask", { scope: "file" }, async ({ system }) => checkedAsk(system))
  .extend("clocks", { scope: "file" }, async ({ system, ask }) => clockBuilder(system, ask))
  .extend("life", { scope: "file" }, async ({ system, ask }) => lifeBuilder(system, ask))
  .extend("reports", { scope: "file" }, async ({ ask }) => usageBuilder(ask));

/** Scenarios on a new system, whose ledger they may stop. */
export const aloneTest = systemTest
  .extend("ask", { scope: "file" }, async ({ system }) => checkedAsk(system))
  .extend("clocks", { scope: "file" }, async ({ system, ask }) => clockBuilder(system, ask));
