/** The price curve of a plan. What prices and draws it is loaded once one is shown. */
import { lazy, Suspense } from "react";
import { Skeleton } from "../../design/page/page.tsx";
import type { PlanToDraw } from "./drawn-plan.tsx";

const DrawnPlan = lazy(async () => ({ default: (await import("./drawn-plan.tsx")).DrawnPlan }));

/** Draws what the plan costs over its units. */
export function PlanCurve({ plan }: { readonly plan: PlanToDraw }) {
  return (
    <Suspense fallback={<Skeleton lines={6} />}>
      <DrawnPlan plan={plan} />
    </Suspense>
  );
}
