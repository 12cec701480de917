/** The steps to the first invoice, each as the service has it. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { later } from "../../design/later.tsx";
import { Card, Section } from "../../design/page/page.tsx";
import { State } from "../../design/values/state.tsx";
import { PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { CustomerService } from "../../gen/billing/admin/v1/customers_pb.ts";
import { OrganisationService } from "../../gen/billing/admin/v1/organisations_pb.ts";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";
import styles from "./first-steps.module.css";

// One step is next: the forms of the others are not loaded.
const ConnectActs = later(async () => (await import("../ledger/act-rows.tsx")).ConnectActs);
const SetMapping = later(async () => (await import("../ledger/mapping-act.tsx")).SetMapping);
const ImportCustomers = later(
  async () => (await import("../customers/import-customers.tsx")).ImportCustomers,
);
const CreatePlan = later(async () => (await import("../catalogue/plan-acts.tsx")).CreatePlan);
const SetSetupMode = later(
  async () => (await import("../settings/setup-mode-act.tsx")).SetSetupMode,
);

interface Step {
  readonly title: string;
  readonly why: string;
  readonly isDone: boolean;
  readonly act: ReactNode;
}

/** The first invoice, if there is one, and whether the ledger has it. */
export interface StepsProps {
  readonly invoice: { readonly id: string; readonly number: string } | undefined;
  readonly isPosted: boolean;
}

/** Shows the steps. The next of them has its act. */
export function Steps({ invoice, isPosted }: StepsProps) {
  const steps = useSteps({ invoice, isPosted });
  if (steps === null) return null;
  const doneCount = steps.filter(({ isDone }) => isDone).length;
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Section
      title={next === -1 ? "Your first invoice is in the ledger" : "To the first invoice"}
      beside={<span className="muted">{`${doneCount} of ${steps.length} done`}</span>}
    >
      <Card>
        <ol className={styles.steps}>
          {steps.map(({ title, why, isDone, act }, index) => (
            <li key={title} aria-current={index === next ? "step" : undefined}>
              <div className={styles.head}>
                <h3>
                  {index + 1}. {title}
                </h3>
                {isDone ? (
                  <State word="Done" tone="ok" />
                ) : index === next ? (
                  <State word="Next" tone="info" />
                ) : (
                  <State word="Later" tone="quiet" />
                )}
              </div>
              {index === next && <p className="muted">{why}</p>}
              {index === next && <div className={styles.acts}>{act}</div>}
            </li>
          ))}
        </ol>
      </Card>
    </Section>
  );
}

/** Reads each step from the service. Null until all are read. */
function useSteps({ invoice, isPosted }: StepsProps): readonly Step[] | null {
  const { id: organisation } = useOrganisation();
  const first = { organisation, limit: 1 };
  const read = useQuery(OrganisationService.method.getOrganisation, { id: organisation });
  const customers = useQuery(CustomerService.method.listCustomers, first);
  const plans = useQuery(PlanService.method.listPlans, { ...first, limit: 100 });
  const subscriptions = useQuery(SubscriptionService.method.listSubscriptions, first);
  const whole = read.data?.organisation;
  if (!whole || !customers.data || !plans.data || !subscriptions.data) return null;
  const { revenueAccount, taxType } = whole;
  const draft = plans.data.data.find(({ status }) => status === CatalogueStatus.DRAFT);
  const hasPlan = plans.data.data.some(({ status }) => status === CatalogueStatus.ACTIVE);
  const hasSubscription = subscriptions.data.data.length > 0;
  const steps: (Step | false)[] = [
    {
      title: "Connect a ledger",
      why: "The accounting system gets every invoice, numbers its contacts and says what is paid.",
      isDone: whole.ledgerConnected,
      act: <ConnectActs />,
    },
    {
      title: "Choose the account of sales and the tax",
      why: "Each line of an invoice is posted to an account of the ledger, with a tax type.",
      isDone: revenueAccount !== undefined && taxType !== undefined,
      act: <SetMapping isInRow={false} name="the organisation" of={{}} mapping={whole} />,
    },
    {
      title: "Import a customer",
      why: "Customers are contacts of the ledger. The platform can create them too, by the API.",
      isDone: customers.data.data.length > 0,
      act: <ImportCustomers />,
    },
    {
      title: "Make a plan",
      why:
        draft === undefined || hasPlan
          ? "A plan says what a period costs: a flat fee, a price for each unit, or tiers."
          : "It is a draft: look at it, then activate it.",
      isDone: hasPlan,
      act:
        draft === undefined ? (
          <CreatePlan />
        ) : (
          <Link to="/o/$organisation/plans/$id" params={{ organisation, id: draft.id }}>
            Look at {draft.name}
          </Link>
        ),
    },
    whole.setupMode && {
      title: "Turn Setup Mode off",
      why: "While it is on nothing is billed.",
      isDone: false,
      act: <SetSetupMode />,
    },
    {
      title: "Create a subscription",
      why: "A customer, a plan and how many units. What it will cost is shown before.",
      isDone: hasSubscription,
      act: (
        <Link to="/o/$organisation/subscriptions/new" params={{ organisation }}>
          Create a subscription
        </Link>
      ),
    },
    {
      title: "See its invoice in the ledger",
      why:
        invoice === undefined
          ? "It is made by itself within a minute, or when the subscription begins."
          : "It is on its way to the ledger.",
      isDone: isPosted,
      act: invoice && (
        <Link to="/o/$organisation/invoices/$id" params={{ organisation, id: invoice.id }}>
          {invoice.number}
        </Link>
      ),
    },
  ];
  return steps.filter((step) => step !== false);
}
