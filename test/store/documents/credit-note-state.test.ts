/** A credit note's allocations compared with the ledger's: new, known and removed ones. */
import { describe, expect, test } from "vitest";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import {
  compareAllocations,
  type KnownAllocation,
  type ObservedAllocation,
} from "../../../src/store/documents/allocation-changes.ts";

function known(
  id: string,
  ledgerId: string | null,
  amount: string,
  isActive = true,
  invoice = "a",
): KnownAllocation {
  return {
    id,
    ledgerId,
    invoiceId: `our ${invoice}`,
    invoiceLedgerId: invoice,
    amount: parseDecimal(amount),
    isActive,
  };
}

function observed(id: string, amount: string, invoiceId = "a"): ObservedAllocation {
  return { id, invoiceId, amount, date: "2026-04-10" };
}

/** Returns the outcome as ids: our ids of kept and gone allocations, the ledger's of added ones. */
function compared(
  ours: readonly KnownAllocation[],
  ledgers: readonly ObservedAllocation[],
): object {
  const { added, kept, gone } = compareAllocations(ours, ledgers);
  return {
    added: added.map(({ id }) => id),
    kept: kept.map((one) => [one.known.id, one.observed.amount]),
    gone: gone.map(({ id }) => id),
  };
}

describe("the comparison of allocations", () => {
  test("matches the ledger's ids, even if the amounts differ", () => {
    const ours = [known("1", "x", "5.0000"), known("2", "y", "5.0000")];
    const outcome = compared(ours, [observed("y", "5.0000"), observed("x", "8.0000")]);
    expect(outcome).toEqual({
      added: [],
      kept: [
        ["2", "5.0000"],
        ["1", "8.0000"],
      ],
      gone: [],
    });
  });

  test("matches invoice and amount if one side has no id, each allocation once", () => {
    const ours = [known("1", null, "5"), known("2", "y", "7")];
    const outcome = compared(ours, [
      observed("x", "5.0000"),
      observed("", "7.0000"),
      observed("", "7.0000"),
      observed("z", "5.0000"),
    ]);
    expect(outcome).toEqual({
      added: ["", "z"],
      kept: [
        ["1", "5.0000"],
        ["2", "7.0000"],
      ],
      gone: [],
    });
  });

  test("finds two allocations if the ids differ and the amount is the same", () => {
    const outcome = compared(
      [known("1", "x", "5")],
      [observed("x", "5.0000"), observed("y", "5.0000")],
    );
    expect(outcome).toEqual({ added: ["y"], kept: [["1", "5.0000"]], gone: [] });
  });

  test("finds another allocation if the invoice differs", () => {
    const outcome = compared([known("1", null, "5")], [observed("", "5.0000", "b")]);
    expect(outcome).toEqual({ added: [""], kept: [], gone: ["1"] });
  });

  test("has a removed allocation as gone once, and as kept if the ledger has it again", () => {
    const ours = [known("1", "x", "5"), known("2", "y", "6", false), known("3", "z", "7", false)];
    expect(compared(ours, [observed("y", "6.0000")])).toEqual({
      added: [],
      kept: [["2", "6.0000"]],
      gone: ["1"],
    });
  });
});
