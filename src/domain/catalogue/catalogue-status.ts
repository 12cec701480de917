/** How plans and charges move from status to status. decisions §4. */

import { Refusal } from "../refusal.ts";
import type { CatalogueStatus } from "./plan.ts";

const moves: Readonly<Record<CatalogueStatus, readonly CatalogueStatus[]>> = {
  draft: ["active"],
  active: ["legacy", "inactive"],
  legacy: ["active"],
  inactive: [],
};

/**
 * Whether a status changes: false where it is the one wanted already. Refuses (`invalid_state`) every move but `draft` to
 * `active`, `active` to `legacy` or `inactive`, and `legacy` to `active`. decisions §4.
 */
export function decideMove(from: CatalogueStatus, to: CatalogueStatus): boolean {
  if (from === to) return false;
  if (moves[from].includes(to)) return true;
  const possible = moves[from].length === 0 ? "nothing: it stays so" : moves[from].join(" or ");
  throw new Refusal("invalid_state", `From ${from} it can become ${possible}; not ${to}.`);
}
