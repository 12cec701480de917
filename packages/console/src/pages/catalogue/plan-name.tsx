/** The name of a plan, by its id. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import { PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";

/** Reads a plan. Plans change seldom, so that a list of hundreds asks for each once. */
export function usePlan(id: string) {
  const { id: organisation } = useOrganisation();
  const { data } = useQuery(
    PlanService.method.getPlan,
    { organisation, id },
    { staleTime: 300_000 },
  );
  return data?.plan;
}

/** The name of the plan, as the link to it. */
export function PlanName({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  const plan = usePlan(id);
  return (
    <Link to="/o/$organisation/plans/$id" params={{ organisation, id }}>
      {plan?.name ?? "…"}
    </Link>
  );
}
