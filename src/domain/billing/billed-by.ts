/**
 * What set the billed units of a period (MONEY-9): the id of the change of units whose new total
 * they are, or `creation` if no change had set the subscription's units. If no document of the
 * period bills them, `setup_mode` (it began in Setup Mode) or `removal` (an end of ours removed its
 * invoice).
 */
import type { PeriodState } from "../model/billing-state.ts";
import type { Subscription } from "../model/subscription.ts";

/** What a period was billed for. */
export type Billed = Pick<PeriodState, "billedUnits" | "billedBy">;

/** Returns billed units with what set them, `by`: undefined if the change has no id yet. */
export function billedFor(billedUnits: number | null, by: string | undefined): Billed {
  const isKnown = billedUnits !== null && by !== undefined;
  return { billedUnits, billedBy: isKnown ? `${billedUnits} ${by}` : null };
}

/**
 * Returns what set the billed units. Undefined if it is not known, or was of other units: the
 * version before changes these alone.
 */
export function billedByOf({ billedUnits, billedBy }: Billed): string | undefined {
  const [units, by] = billedBy?.split(" ") ?? [];
  return units === String(billedUnits) ? by : undefined;
}

/** Returns what set the units that the subscription has. */
export function unitsSetBy({ unitChangeId }: Pick<Subscription, "unitChangeId">): string {
  return unitChangeId ?? "creation";
}
