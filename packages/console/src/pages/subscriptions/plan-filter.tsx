/** The filter of subscriptions by plan: a choice of the plans that there are. */
import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import styles from "../../design/table/table.module.css";
import { PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";

const path = "/signed-in/o/$organisation/subscriptions" as const;

/** Chooses a plan. Further plans than the list has are reached by the link on their page. */
export function PlanFilter() {
  const { id: organisation } = useOrganisation();
  const { plan = "" } = useSearch({ from: path });
  const navigate = useNavigate();
  const { data } = useQuery(PlanService.method.listPlans, { organisation, limit: 100 });
  const plans = data?.data ?? [];
  if (plans.length === 0) return null;
  return (
    <select
      className={styles.select}
      aria-label="Filter by plan"
      value={plan}
      onChange={(event) =>
        void navigate({
          to: ".",
          search: (old: Record<string, unknown>) => ({
            ...old,
            plan: event.target.value,
            after: undefined,
          }),
        })
      }
    >
      <option value="">All plans</option>
      {plans.some(({ id }) => id === plan) || plan === "" ? null : (
        <option value={plan}>Another plan</option>
      )}
      {plans.map(({ id, name, status }) => (
        <option key={id} value={id}>
          {name}
          {status === CatalogueStatus.LEGACY ? " (legacy)" : ""}
        </option>
      ))}
    </select>
  );
}
