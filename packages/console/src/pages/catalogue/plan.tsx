/** One plan: what it costs over its units, its tiers and meters. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactRow } from "../../design/page/facts.tsx";
import { Card, Page, Section, Skeleton } from "../../design/page/page.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import forms from "../../forms/forms.module.css";
import { type PlanMeter, PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";
import { everyText, intervalText } from "../../words/choices.ts";
import { catalogueStates, planTypes, wordsOf } from "../../words/states.ts";
import { SetMapping } from "../ledger/mapping-act.tsx";
import { SetPlanStatus } from "./catalogue-acts.tsx";
import { EditPlan } from "./plan-acts.tsx";
import { PlanCurve } from "./plan-curve.tsx";
import { Tiers } from "./tiers.tsx";

/** The page of a plan. */
export function PlanPage() {
  const { organisation, id } = useParams({ from: "/signed-in/o/$organisation/plans/$id" });
  const read = useQuery(PlanService.method.getPlan, { organisation, id });
  const plan = read.data?.plan;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (plan === undefined) return <Skeleton lines={8} />;
  const { name, code, status, type, interval, currency, minimumUnits, freeUnits } = plan;
  const hasUnits = type !== PlanType.FLAT_FEE;
  const word = plan.unitLabels?.plural ?? "units";
  const isDraft = status === CatalogueStatus.DRAFT;
  return (
    <Page
      title={name}
      beside={<State {...wordsOf(catalogueStates, status)} />}
      lead={code}
      acts={
        <>
          {!isDraft && <SetPlanStatus plan={plan} />}
          <EditPlan plan={plan} />
          <SetMapping
            isInRow={false}
            label="Account and tax"
            name={name}
            of={{ plan: id }}
            mapping={plan}
          />
        </>
      }
    >
      {isDraft && (
        <Section title="Draft" isQuiet>
          <Card>
            <p>It is a draft: nobody can have it yet. Look at what it costs before.</p>
            <div className={forms.row}>
              <SetPlanStatus plan={plan} />
            </div>
          </Card>
        </Section>
      )}
      <FactRow
        facts={[
          ["Prices", planTypes[type]],
          ["Billed each", intervalText(interval)],
          ...(plan.tiers.length === 0
            ? [["Price", <Money key="price" amount={plan.price} currency={currency} />] as const]
            : [["Currency", currency] as const]),
          ...(hasUnits && minimumUnits > 0
            ? [["At least", `${grouped(minimumUnits)} ${word}`] as const]
            : []),
          ...(freeUnits > 0 ? [["Free", `${grouped(freeUnits)} ${word}`] as const] : []),
          [
            "Subscriptions",
            <Link
              key="subscriptions"
              to="/o/$organisation/subscriptions"
              params={{ organisation }}
              search={{ plan: id }}
            >
              {grouped(plan.subscriptions)}
            </Link>,
          ],
          ["A customer's price", plan.allowsPriceOverride ? "may differ" : "is the plan's"],
          ["Account", plan.revenueAccount ?? "as the organisation"],
          ["Tax", plan.taxType ?? "as the organisation"],
        ]}
      />
      {hasUnits && (
        <Section title={`What it costs ${everyText(interval)}`}>
          <PlanCurve plan={plan} />
        </Section>
      )}
      {plan.tiers.length > 0 && (
        <Section title="Tiers">
          <Tiers tiers={plan.tiers} currency={currency} word={word} />
        </Section>
      )}
      {plan.meters.map((meter) => (
        <MeterOfPlan
          key={meter.meter}
          meter={meter}
          currency={currency}
          organisation={organisation}
        />
      ))}
    </Page>
  );
}

function MeterOfPlan({
  meter,
  currency,
  organisation,
}: {
  readonly meter: PlanMeter;
  readonly currency: string;
  readonly organisation: string;
}) {
  return (
    <Section
      title={`Usage of ${meter.name}`}
      beside={
        <Link to="/o/$organisation/meters" params={{ organisation }} search={{ code: meter.code }}>
          {meter.code}
        </Link>
      }
    >
      {meter.tiers.length > 0 ? (
        <Tiers tiers={meter.tiers} currency={currency} word="quantity" />
      ) : (
        <p>
          <Money amount={meter.price} currency={currency} /> each
        </p>
      )}
    </Section>
  );
}
