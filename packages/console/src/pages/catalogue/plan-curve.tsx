/** The price curve of a plan. What prices and draws it is loaded once one is shown. */
import { later } from "../../design/later.tsx";
import { Skeleton } from "../../design/page/page.tsx";

/** Draws what the plan costs over its units. */
export const PlanCurve = later(
  async () => (await import("./drawn-plan.tsx")).DrawnPlan,
  <Skeleton lines={6} />,
);
