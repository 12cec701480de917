/** The moves of plans and charges from status to status. CATALOGUE-2. */
import { expect, test } from "vitest";
import type { CatalogueStatus } from "../../../src/domain/catalogue/plan.ts";
import { decideMove } from "../../../src/domain/catalogue/plan.ts";

const statuses: readonly CatalogueStatus[] = ["draft", "active", "inactive", "legacy"];
const allowed = ["draft active", "active legacy", "active inactive", "legacy active"];

test.each(
  statuses.flatMap((from) => statuses.map((to) => ({ from, to }))),
)("$from to $to is allowed as CATALOGUE-2 has it", ({ from, to }) => {
  if (from === to) expect(decideMove(from, to)).toBe(false);
  else if (allowed.includes(`${from} ${to}`)) expect(decideMove(from, to)).toBe(true);
  else
    expect(() => decideMove(from, to)).toThrowError(
      expect.objectContaining({ code: "invalid_state" }),
    );
});
