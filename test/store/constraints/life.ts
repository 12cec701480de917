/** What the database refuses of ends, their removals and restorations, and of when something is due: each rule, broken. */
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

/** Values that may not be. */
export function lifeFaults(a: SeededRows): Faults {
  const subscription = (assignments: string) =>
    change("subscriptions", a.subscription, assignments);
  const ending = (assignments: string) => change("terminations", a.ending, assignments);
  const removal = (assignments: string) =>
    change("removals", `termination_id = '${a.ending}'`, assignments);
  return {
    subscriptions_due: [subscription("due_at = NULL")],
    subscriptions_parked: [
      subscription("parked_until = now()"),
      subscription("parked_reason = 'no'"),
      subscription("parked_attempts = -1"),
    ],
    terminations_when: [ending("end_when = 'later'")],
    terminations_hash_is_sha256: [ending("request_hash = '\\x00'")],
    removals_step: [removal("step = -1")],
    removals_state: [removal("state = 'odd', finished_at = now()")],
    removals_outcome: [
      removal("outcome = 'deleted'"),
      removal("state = 'removed', finished_at = now()"),
      removal("state = 'removed', finished_at = now(), outcome = 'gone'"),
    ],
    removals_reissued: [removal("reissued = true")],
    removals_refused: [
      removal("state = 'refused', finished_at = now()"),
      removal("message = 'No'"),
      removal("finished_at = now()"),
      removal("state = 'left'"),
    ],
    restorations_hash_is_sha256: [change("restorations", a.restoration, "request_hash = '\\x00'")],
  };
}

/** Rows of organisation A that refer to rows of organisation B. */
export function lifeTenantFaults(a: SeededRows, b: SeededRows): Faults {
  const removal = `termination_id = '${a.ending}'`;
  return {
    terminations_organisation_id_subscription_id_fkey: [
      change("terminations", a.ending, `subscription_id = '${b.subscription}'`),
    ],
    removals_organisation_id_termination_id_fkey: [
      another("removals", removal, { termination_id: b.ending, step: 7 }),
    ],
    removals_organisation_id_invoice_id_fkey: [
      another("removals", removal, { invoice_id: b.invoice, step: 7 }),
    ],
    restorations_organisation_id_subscription_id_fkey: [
      change("restorations", a.restoration, `subscription_id = '${b.subscription}'`),
    ],
  };
}
