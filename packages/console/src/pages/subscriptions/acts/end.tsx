/** The act that ends a subscription: with its period, or now. */
import { useState } from "react";
import { ActDrawer } from "../../../act/drawer.tsx";
import { Choices, YesNo } from "../../../act/fields.tsx";
import { useAct } from "../../../act/use-act.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { dayText } from "../../../design/values/instant.tsx";
import { SubscriptionService } from "../../../gen/billing/admin/v1/subscriptions_pb.ts";
import { EndWhen } from "../../../gen/billing/v1/subscriptions_pb.ts";
import type { SubscriptionActProps } from "./acts.tsx";
import { Previewed } from "./previewed-later.tsx";
import { doneOf, effectOf, subscriptionDifferences } from "./words.ts";

/** The drawer that ends a subscription. */
export function End({ subscription, about, onClose, leave }: SubscriptionActProps) {
  const { id: organisation } = useOrganisation();
  const { id, renewalDate, cancelAtPeriodEnd, customerCode } = subscription;
  const [when, setWhen] = useState(cancelAtPeriodEnd ? EndWhen.NOW : EndWhen.PERIOD_END);
  const [deleteUnsentInvoices, setDeleteUnsent] = useState(false);
  const [voidApprovedInvoices, setVoidApproved] = useState(false);
  const isNow = when === EndWhen.NOW;
  const removals = isNow ? { deleteUnsentInvoices, voidApprovedInvoices } : {};
  const act = useAct({
    method: SubscriptionService.method.endSubscription,
    preview: SubscriptionService.method.previewEndSubscription,
    request: { organisation, id, when, ...removals },
    done: ({ subscription: became }, answer) => ({
      words: doneOf(isNow ? "Ended" : `Set to end on ${dayText(renewalDate)}`, answer?.preview),
      differences: subscriptionDifferences(became, answer?.preview),
      leave,
    }),
  });
  const { preview, events } = act.preview ?? {};
  const effect = effectOf(isNow ? "End now" : `End on ${dayText(renewalDate)}`, preview);
  const isRemoving = preview !== undefined && preview.removedInvoices.length > 0;
  return (
    <ActDrawer
      act={act}
      title="End the subscription"
      about={about}
      effect={effect}
      isDangerous={isNow}
      {...(isRemoving && { typed: { text: customerCode, what: "customer's code" } })}
      onClose={onClose}
      shown={preview && <Previewed {...{ preview, events, before: subscription }} />}
    >
      <Choices
        label="When"
        choices={[
          ...(cancelAtPeriodEnd
            ? []
            : [
                [
                  EndWhen.PERIOD_END,
                  `With its period, on ${dayText(renewalDate)}`,
                  "It can be restored until then.",
                ] as const,
              ]),
          [
            EndWhen.NOW,
            "Now",
            "Nothing of the present period is given back. A refund is made in the ledger.",
          ],
        ]}
        value={when}
        onChange={setWhen}
      />
      {isNow && (
        <>
          <YesNo
            label="Delete its unsent invoices"
            meaning="Drafts and those that await approval."
            value={deleteUnsentInvoices}
            onChange={setDeleteUnsent}
          />
          <YesNo
            label="Void its approved invoices"
            meaning="Those of which nothing is paid or credited."
            value={voidApprovedInvoices}
            onChange={setVoidApproved}
          />
        </>
      )}
    </ActDrawer>
  );
}
