/** The plan of a new subscription, with its price curve once it is chosen. */
import { Link, type LinkProps } from "@tanstack/react-router";
import { useList } from "../../../data/list.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { EmptyState } from "../../../design/page/empty-state.tsx";
import { ErrorState } from "../../../design/page/error-state.tsx";
import { Section, Skeleton } from "../../../design/page/page.tsx";
import { Named } from "../../../design/table/named.tsx";
import { type Plan, PlanService } from "../../../gen/billing/admin/v1/catalogue_pb.ts";
import { PlanType } from "../../../gen/billing/v1/catalogue_pb.ts";
import { CatalogueStatus } from "../../../gen/billing/v1/common_pb.ts";
import { intervalText } from "../../../words/choices.ts";
import { planTypes } from "../../../words/states.ts";
import { PlanCurve } from "../../catalogue/plan-curve.tsx";
import { moneyText } from "../acts/words.ts";
import styles from "./new.module.css";
import { Chosen, Offer, Offers } from "./offers.tsx";

/** Shows the plan, or those to choose from. */
export function PlanChoice({ chosen }: { readonly chosen: Plan | undefined }) {
  return (
    <Section title="Plan">
      {chosen ? (
        <>
          <Chosen
            name={chosen.name}
            sub={`${chosen.code} · ${priceText(chosen)}`}
            change={{ plan: undefined }}
            what="plan"
          />
          {chosen.type !== PlanType.FLAT_FEE && (
            <div className={styles.curve}>
              <PlanCurve plan={chosen} />
            </div>
          )}
        </>
      ) : (
        <Active />
      )}
    </Section>
  );
}

/** Returns `Per unit, NZD 12.50, each month`, or `Tiered in NZD, each month`. */
function priceText({ type, tiers, price, currency, interval }: Plan): string {
  const amount = tiers.length === 0 ? `, ${moneyText(price, currency)}` : ` in ${currency}`;
  return `${planTypes[type] ?? ""}${amount}, each ${intervalText(interval)}`;
}

function Active() {
  const { id: organisation } = useOrganisation();
  const request = { organisation, limit: 100, status: CatalogueStatus.ACTIVE };
  const list = useList(PlanService.method.listPlans, request);
  if (list.data === undefined) {
    if (list.error) return <ErrorState error={list.error} onAgain={() => void list.refetch()} />;
    return <Skeleton lines={4} />;
  }
  if (list.data.data.length === 0)
    return (
      <EmptyState
        title="No active plans yet"
        act={
          <Link to="/o/$organisation/plans" params={{ organisation }}>
            All plans
          </Link>
        }
      />
    );
  return (
    <Offers name="Plans">
      {list.data.data.map((plan) => (
        <Offer key={plan.id} adds={{ plan: plan.code } as LinkProps["search"]}>
          <div>
            <Named name={plan.name} sub={plan.code} />
          </div>
          <span className="muted">{priceText(plan)}</span>
        </Offer>
      ))}
    </Offers>
  );
}
