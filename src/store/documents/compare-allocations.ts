/** Compares a credit note's allocations here with those that the ledger reports (DOCUMENT-4). */
import { type Decimal, equals, parseDecimal } from "../../domain/money/decimal.ts";

/** Credit on the ledger's invoice `invoiceId`. `id` is empty if the ledger reports none. */
export interface ObservedAllocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly date: string;
}

/** An allocation here. `ledgerId` is null if the ledger did not report it. */
export interface KnownAllocation {
  readonly id: string;
  readonly ledgerId: string | null;
  readonly invoiceId: string;
  readonly invoiceLedgerId: string;
  readonly amount: Decimal;
  readonly isActive: boolean;
}

/** What turns the allocations here into the ledger's. `gone`: no longer in the ledger. */
export interface AllocationChanges {
  readonly added: readonly ObservedAllocation[];
  readonly kept: readonly {
    readonly known: KnownAllocation;
    readonly observed: ObservedAllocation;
  }[];
  readonly gone: readonly KnownAllocation[];
}

/** Matches by the ledger's id, else by invoice and amount. A removed one that is back is kept. */
export function compareAllocations(
  known: readonly KnownAllocation[],
  observed: readonly ObservedAllocation[],
): AllocationChanges {
  const open = new Set(known);
  const kept: { known: KnownAllocation; observed: ObservedAllocation }[] = [];
  const match = (
    one: ObservedAllocation,
    isSame: (candidate: KnownAllocation) => boolean,
  ): boolean => {
    const candidate = [...open].find(isSame);
    if (candidate === undefined) return false;
    open.delete(candidate);
    kept.push({ known: candidate, observed: one });
    return true;
  };
  const unnamed = observed.filter(
    (one) => one.id === "" || !match(one, ({ ledgerId }) => ledgerId === one.id),
  );
  const added = unnamed.filter(
    (one) =>
      !match(
        one,
        ({ ledgerId, invoiceLedgerId, amount, isActive }) =>
          (ledgerId === null || one.id === "") &&
          isActive &&
          invoiceLedgerId === one.invoiceId &&
          equals(amount, parseDecimal(one.amount)),
      ),
  );
  return { added, kept, gone: [...open].filter(({ isActive }) => isActive) };
}
