/** The acts on a subscription: their buttons, and the drawer of the one that the address names. */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useOpenAct } from "../../../act/open-act.ts";
import { useMayAct } from "../../../data/operator.tsx";
import { later } from "../../../design/later.tsx";
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

/** The drawer of each act, by the word of the address. */
const drawers = {
  units: later(async () => (await import("./change-units.tsx")).ChangeUnits),
  end: later(async () => (await import("./end.tsx")).End),
  restore: later(async () => (await import("./restore.tsx")).Restore),
  break_off: later(async () => (await import("./break-off.tsx")).BreakOff),
};

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
  const button = (act: keyof typeof drawers, words: string) => (
    <Button
      key={act}
      variant="default"
      onPointerEnter={() => void drawers[act].load()}
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
  const [, Drawer] = Object.entries(drawers).find(([name]) => name === act) ?? [];
  if (!useMayAct() || Drawer === undefined) return null;
  const leave = () => {
    const { pathname } = globalThis.location;
    close();
    return pathname;
  };
  return <Drawer key={act} {...{ subscription, about, onClose: close, leave }} />;
}
