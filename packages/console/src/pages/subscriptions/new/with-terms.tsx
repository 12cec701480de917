/** What was chosen with its terms, what it comes to, and the button that creates it. */
import { useNavigate } from "@tanstack/react-router";
import styles from "../../../act/act.module.css";
import { ActButton, ActPreview, ReasonField } from "../../../act/parts.tsx";
import { useAct } from "../../../act/use-act.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { Columns } from "../../../design/page/columns.tsx";
import { Section } from "../../../design/page/page.tsx";
import type { Plan } from "../../../gen/billing/admin/v1/catalogue_pb.ts";
import { SubscriptionService } from "../../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { Customer } from "../../../gen/billing/v1/customers_pb.ts";
import { Previewed } from "../acts/previewed-later.tsx";
import { doneOf, effectOf, invoiceDifferences, subscriptionDifferences } from "../acts/words.ts";
import { CustomerChoice } from "./customer-choice.tsx";
import page from "./new.module.css";
import { PlanChoice } from "./plan-choice.tsx";
import { Terms, useTerms } from "./terms.tsx";

/** Terms, preview and button of what was chosen. */
export function WithTerms({
  customer,
  plan,
}: {
  readonly customer: Customer;
  readonly plan: Plan;
}) {
  const { id: organisation } = useOrganisation();
  const navigate = useNavigate();
  const terms = useTerms(plan);
  const codes = { organisation, customerCode: customer.code, planCode: plan.code };
  const act = useAct({
    method: SubscriptionService.method.createSubscription,
    preview: SubscriptionService.method.previewCreateSubscription,
    request: terms.request && { ...codes, ...terms.request },
    done: ({ subscription: became, invoice }, answer) => ({
      words: doneOf("Created", answer?.preview, [invoice]),
      differences: [
        ...subscriptionDifferences(became, answer?.preview),
        ...invoiceDifferences(invoice, answer?.preview?.issuedInvoices.slice(0, 1) ?? []),
      ],
      leave: async () => {
        const params = { organisation, id: became?.id ?? "" };
        await navigate({ to: "/o/$organisation/subscriptions/$id", params });
        return globalThis.location.pathname;
      },
    }),
  });
  const { preview, events } = act.preview ?? {};
  const effect = effectOf("Create it", preview);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (act.isReady) act.perform();
      }}
    >
      <Columns
        name="Preview"
        beside={
          <div className={page.beside}>
            <Section title="What it comes to">
              <ActPreview
                act={act}
                effect={effect}
                shown={preview && <Previewed {...{ preview, events }} />}
              />
              <div className={styles.pageFoot}>
                <ReasonField act={act} />
                <ActButton act={act} effect={effect} />
              </div>
            </Section>
          </div>
        }
      >
        <CustomerChoice chosen={customer} />
        <PlanChoice chosen={plan} />
        <Section title="Terms">
          <fieldset className={styles.fields} disabled={act.isUnknown || act.isBusy}>
            <Terms plan={plan} terms={terms} />
          </fieldset>
        </Section>
      </Columns>
    </form>
  );
}
