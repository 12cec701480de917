/**
 * A process that takes permits of a ledger's call budget and returns them, as fast as it may, until
 * it is ended. Tests run several over one budget. Settings come from the environment.
 */
import { setTimeout as wait } from "node:timers/promises";
import { xeroTraits } from "../../../src/ledger/xero/wire/connection.ts";
import { createCallBudget } from "../../../src/store/ledger-connection/call-budget.ts";
import { testPool } from "../../support/pool.ts";

const {
  DATABASE_URL = "",
  ORGANISATION = "",
  CALLERS = "1",
  LONGEST_CALL_MS = "20",
  LEASE_MS = "60000",
} = process.env;

/** The longest pause before a waiting caller tries again, because a permit may be free sooner. */
const impatienceMs = 15;

const pool = testPool(DATABASE_URL, 4, "caller");
const budget = createCallBudget(pool, ORGANISATION, Number(LEASE_MS), xeroTraits.calls);

async function callForEver(isBackground: boolean): Promise<void> {
  for (;;) {
    const permit = await budget.take(isBackground);
    if (permit.kind === "granted") {
      process.send?.("granted");
      await wait(Math.random() * Number(LONGEST_CALL_MS));
      await permit.end(null);
    } else {
      await wait(Math.min(permit.waitMs, impatienceMs));
    }
  }
}

await Promise.all(
  Array.from({ length: Number(CALLERS) }, (_, index) => callForEver(index % 2 === 0)),
);
