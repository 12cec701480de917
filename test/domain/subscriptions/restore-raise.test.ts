/** Restoring after a raise of units while the subscription was set to end. RESTORE-4, UNITS-9 */
import { expect, it } from "vitest";
import { decideRestoration } from "../../../src/domain/subscriptions/restore.ts";
import type { StateOrder } from "./billing-state-builder.ts";
import { ahead, factsOf, restored, setToEnd } from "./restoration-builder.ts";

const july = "2026-07-01 to 2026-08-01";

/** A person removed the renewal invoice of July, which billed so many units. */
const removedAt = (billedUnits: number, units: number): StateOrder => ({
  ...ahead,
  ...setToEnd,
  units,
  next: { billedUnits },
  endRemovedRenewal: false,
});

it("a raise above a renewal invoice that a person removed is billed over all days", () => {
  expect(restored(removedAt(10, 12))).toEqual({
    is: "active, 12 units, until 2026-07-01, ends null",
    dueDate: "2026-07-01",
    periods: ["6: 12 billed, billed separately"],
    invoices: [
      ["change of 5", `20.0000 for ${july}: 10 to 12 seats, 31 of 31 days: (120 − 100) × 31 ÷ 31`],
    ],
  });
});

it("a raise that is billed, and fewer units than billed, are billed by nothing", () => {
  const [period] = decideRestoration(factsOf(removedAt(10, 12))).periods;
  const again = { ...removedAt(10, 12), next: period ?? {} };
  expect(restored(again)).not.toHaveProperty("invoices");
  expect(restored(removedAt(10, 8))).not.toHaveProperty("invoices");
});
