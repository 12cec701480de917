/** The act that restores a subscription that ended, or is set to. */
import { ActDrawer } from "../../../act/drawer.tsx";
import { useAct } from "../../../act/use-act.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { SubscriptionService } from "../../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { SubscriptionActProps } from "./acts.tsx";
import { Previewed } from "./previewed-later.tsx";
import { doneOf, effectOf, subscriptionDifferences } from "./words.ts";

/** The drawer that restores a subscription. */
export function Restore({ subscription, about, onClose, leave }: SubscriptionActProps) {
  const { id: organisation } = useOrganisation();
  const act = useAct({
    method: SubscriptionService.method.restoreSubscription,
    preview: SubscriptionService.method.previewRestoreSubscription,
    request: { organisation, id: subscription.id },
    done: ({ subscription: became }, answer) => ({
      words: doneOf("Restored", answer?.preview),
      differences: subscriptionDifferences(became, answer?.preview),
      leave,
    }),
  });
  const { preview, events } = act.preview ?? {};
  const effect = effectOf("Restore it", preview);
  return (
    <ActDrawer
      act={act}
      title="Restore the subscription"
      about={about}
      effect={effect}
      onClose={onClose}
      shown={preview && <Previewed {...{ preview, events, before: subscription }} />}
    />
  );
}
