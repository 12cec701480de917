/** The acts on a subscription: their buttons, and the drawer of the one that the address names. */
import { Button } from "@mantine/core";
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { useOpenAct } from "../../../act/open-act.ts";
import { useMayAct } from "../../../data/operator.tsx";
import { PlanType } from "../../../gen/billing/v1/catalogue_pb.ts";
import { type Subscription, SubscriptionStatus } from "../../../gen/billing/v1/subscriptions_pb.ts";
import { usePlan } from "../../catalogue/plan-name.tsx";

/** What each drawer gets. */
export interface SubscriptionActProps {
  readonly subscription: Subscription;
  /** Whose it is, and of which plan. */
  readonly about: ReactNode;
  readonly onClose: () => void;
  /** Closes the drawer after the act. Returns the path of the page. */
  readonly leave: () => string;
}

/** Loads the drawer of each act, by the word of the address. */
const loads = {
  units: async () => ({ default: (await import("./change-units.tsx")).ChangeUnits }),
  end: async () => ({ default: (await import("./end.tsx")).End }),
  restore: async () => ({ default: (await import("./restore.tsx")).Restore }),
  break_off: async () => ({ default: (await import("./break-off.tsx")).BreakOff }),
};

type Drawer = ComponentType<SubscriptionActProps>;

/** The drawer once it is loaded. React shows one that suspended 0.3 s later at the earliest. */
function useDrawer(act: string | undefined): Drawer | undefined {
  const [drawer, setDrawer] = useState<{ readonly of: string; readonly Drawer: Drawer }>();
  useEffect(() => {
    const [, load] = Object.entries(loads).find(([name]) => name === act) ?? [];
    void load?.().then((part) => setDrawer({ of: act ?? "", Drawer: part.default }));
  }, [act]);
  return drawer?.of === act ? drawer?.Drawer : undefined;
}

/** The buttons of the acts that the subscription's state allows. */
export function SubscriptionActs({
  subscription,
  waits,
}: {
  readonly subscription: Subscription;
  /** Whether something of it waits for the ledger. */
  readonly waits: boolean;
}) {
  const { open } = useOpenAct();
  const plan = usePlan(subscription.plan);
  if (!useMayAct()) return null;
  const { status, cancelAtPeriodEnd } = subscription;
  const isRunning = status === SubscriptionStatus.ACTIVE || status === SubscriptionStatus.PENDING;
  const hasUnits = plan !== undefined && plan.type !== PlanType.FLAT_FEE;
  const button = (act: keyof typeof loads, words: string) => (
    <Button
      key={act}
      variant="default"
      onPointerEnter={() => void loads[act]()}
      onClick={() => open(act)}
    >
      {words}
    </Button>
  );
  return (
    <>
      {isRunning && hasUnits && button("units", "Change units")}
      {(cancelAtPeriodEnd || status === SubscriptionStatus.ENDED) && button("restore", "Restore")}
      {isRunning && button("end", cancelAtPeriodEnd ? "End now" : "End")}
      {waits && button("break_off", "Break off what waits")}
    </>
  );
}

/** The drawer of the act that the address names. */
export function SubscriptionActDrawer({
  subscription,
  about,
}: Pick<SubscriptionActProps, "subscription" | "about">) {
  const { act, close } = useOpenAct();
  const Drawer = useDrawer(act);
  if (!useMayAct() || Drawer === undefined) return null;
  const leave = () => {
    const { pathname } = globalThis.location;
    close();
    return pathname;
  };
  return <Drawer key={act} {...{ subscription, about, onClose: close, leave }} />;
}
