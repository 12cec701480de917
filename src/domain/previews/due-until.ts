/**
 * What falls due for a subscription until a day, each step on its own day, as a test clock performs
 * it (CLOCK-1). The ledger accepts each document, and no usage is reported on the way.
 */
import { nextDueDate } from "../billing/due-date.ts";
import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import type { BillingState } from "../model/billing-state.ts";
import { Refusal } from "../refusal.ts";
import { afterPosting, billDue, type Preview } from "./preview.ts";

/** What falls due. `isParked`: a step is refused, and nothing follows it. */
export interface DueUntil {
  readonly steps: readonly Pick<Preview, "issued" | "creditNotes">[];
  readonly starts: boolean;
  readonly renewals: number;
  readonly ends: boolean;
  readonly isParked: boolean;
}

/** Returns everything that falls due until the day, the day included. */
export function dueUntil(state: BillingState, last: CivilDate): DueUntil {
  const steps: Preview[] = [];
  let now = state;
  let isParked = false;
  for (;;) {
    const due = nextDueDate(now);
    if (due === null || compareDates(due, last) > 0) break;
    const today = compareDates(due, state.today) < 0 ? state.today : due;
    const step = stepOf({ ...afterPosting(now), today });
    isParked = step === null;
    if (step === null || nextDueDate(step.state) === due) break;
    steps.push(step);
    now = step.state;
  }
  const { status } = now.subscription;
  return {
    steps,
    starts: state.subscription.status === "pending" && status !== "pending",
    renewals: now.period.index - state.period.index,
    ends: status === "complete" && state.subscription.status !== "complete",
    isParked,
  };
}

/** Usage that cannot be billed refuses a step (USAGE-9). */
function stepOf(state: BillingState): Preview | null {
  try {
    return billDue(state);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
