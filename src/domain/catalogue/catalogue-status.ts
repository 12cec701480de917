/** How plans and charges move from status to status (CATALOGUE-2). */

import { Refusal } from "../refusal.ts";
import type { CatalogueStatus } from "./plan.ts";

const moves: Readonly<Record<CatalogueStatus, readonly CatalogueStatus[]>> = {
  draft: ["active"],
  active: ["legacy", "inactive"],
  legacy: ["active"],
  inactive: [],
};

/**
 * Decides a move of status: false if the status is already the wanted one. Refuses
 * (`invalid_state`) every move except `draft` to `active`, `active` to `legacy` or `inactive`, and
 * `legacy` to `active` (CATALOGUE-2).
 */
export function decideMove(from: CatalogueStatus, to: CatalogueStatus): boolean {
  if (from === to) return false;
  if (moves[from].includes(to)) return true;
  const possible = moves[from].length === 0 ? "nothing: it stays so" : moves[from].join(" or ");
  throw new Refusal("invalid_state", `From ${from} it can become ${possible}; not ${to}.`);
}
