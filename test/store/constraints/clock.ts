/** Statements that break the constraints of test clocks' advances. */
import type { Faults } from "./faults.ts";
import { change, type SeededRows } from "./rows.ts";

const nobody = "00000000-0000-0000-0000-000000000000";

/** Refused values, and an advance without an organisation. */
export function clockFaults(a: SeededRows): Faults {
  const advance = (assignments: string) =>
    change("clock_advances", `organisation_id = '${a.organisation}'`, assignments);
  return {
    clock_advances_forward: [
      advance("target = started_from"),
      advance("target = started_from - interval '1 day'"),
    ],
    clock_advances_counts: [
      advance("performed = -1"),
      advance("issued = -1"),
      advance("parked = -1"),
    ],
    clock_advances_organisation_id_fkey: [advance(`organisation_id = '${nobody}'`)],
  };
}
