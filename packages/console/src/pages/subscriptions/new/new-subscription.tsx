/** The page that creates a subscription: customer, plan, terms, and what they come to. */
import { useQuery } from "@connectrpc/connect-query";
import { useSearch } from "@tanstack/react-router";
import { useMayAct } from "../../../data/operator.tsx";
import { useOrganisation } from "../../../data/organisation.tsx";
import { later } from "../../../design/later.tsx";
import { EmptyState } from "../../../design/page/empty-state.tsx";
import { Page, Skeleton } from "../../../design/page/page.tsx";
import { PlanService } from "../../../gen/billing/admin/v1/catalogue_pb.ts";
import { CustomerService } from "../../../gen/billing/admin/v1/customers_pb.ts";
import { CustomerChoice } from "./customer-choice.tsx";
import { PlanChoice } from "./plan-choice.tsx";

// What previews and creates it is needed once both are chosen.
const WithTerms = later(
  async () => (await import("./with-terms.tsx")).WithTerms,
  <Skeleton lines={8} />,
);

/** The page. */
export function NewSubscriptionPage() {
  const { customer, plan } = useChosen();
  if (!useMayAct())
    return (
      <Page title="New subscription">
        <EmptyState title="You may read">Your role does not create subscriptions.</EmptyState>
      </Page>
    );
  return (
    <Page title="New subscription" lead="Nothing is created before you have seen what it comes to.">
      {customer && plan ? (
        <WithTerms key={plan.id} customer={customer} plan={plan} />
      ) : (
        <>
          <CustomerChoice chosen={customer} />
          {customer && <PlanChoice chosen={plan} />}
        </>
      )}
    </Page>
  );
}

/** The customer and the plan that the address names. */
function useChosen() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/subscriptions/new" });
  const { customer: code = "", plan: planCode = "" } = search;
  const customers = useQuery(
    CustomerService.method.listCustomers,
    { organisation, code },
    { enabled: code !== "" },
  );
  const plans = useQuery(
    PlanService.method.listPlans,
    { organisation, code: planCode },
    { enabled: planCode !== "" },
  );
  return { customer: customers.data?.data[0], plan: plans.data?.data[0] };
}
