/** The act that breaks off what waits for a ledger that does not come back. */
import { ActDrawer } from "../../../act/drawer.tsx";
import { useAct } from "../../../act/use-act.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { Section } from "../../../design/page/page.tsx";
import { Money } from "../../../design/values/money.tsx";
import type { BreakOff as BreakOffOf } from "../../../gen/billing/admin/v1/subscription_break_off_pb.ts";
import { SubscriptionService } from "../../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { SubscriptionActProps } from "./acts.tsx";

/** The drawer that breaks off what waits. */
export function BreakOff({ subscription, about, onClose, leave }: SubscriptionActProps) {
  const { id: organisation } = useOrganisation();
  const { customerCode, id } = subscription;
  const act = useAct({
    method: SubscriptionService.method.breakOff,
    preview: SubscriptionService.method.previewBreakOff,
    request: { organisation, id },
    done: ({ breakOff: became }, answer) => {
      const numbers = became?.documents.map(({ number }) => number ?? "").join(", ");
      const issued = numbers ? `Issued: ${numbers}` : "Nothing was issued";
      return {
        words: `What waited was broken off. ${issued}`,
        differences: differencesOf(became, answer?.breakOff),
        leave,
      };
    },
  });
  const shown = act.preview?.breakOff;
  return (
    <ActDrawer
      act={act}
      title="Break off what waits"
      about={about}
      effect={shown === undefined ? "Break off" : effectOf(shown)}
      isDangerous
      {...(shown && { typed: { text: customerCode, what: "customer's code" } })}
      onClose={onClose}
      shown={shown && <Shown breakOff={shown} />}
    />
  );
}

function effectOf({ documents }: BreakOffOf): string {
  const count = documents.length;
  if (count === 0) return "Break off, and issue nothing";
  return `Break off, and issue ${count === 1 ? "one document" : `${count} documents`} again`;
}

function Shown({ breakOff: { running, message, documents } }: { readonly breakOff: BreakOffOf }) {
  return (
    <>
      <Section title="What waits">
        <p>{running}</p>
      </Section>
      <Section title="What is recorded">
        <p>{message}</p>
      </Section>
      <Section title="What is issued">
        {documents.length === 0 && <p className="muted">Nothing.</p>}
        <ul>
          {documents.map(({ subtotal, currency }, index) => (
            <li key={String(index)}>
              A document of <Money amount={subtotal} currency={currency} /> before tax
            </li>
          ))}
        </ul>
      </Section>
    </>
  );
}

function differencesOf(became: BreakOffOf | undefined, previewed: BreakOffOf | undefined) {
  const amounts = (of: BreakOffOf | undefined) =>
    (of?.documents ?? []).map(({ subtotal }) => subtotal).join(", ") || "nothing";
  const [came, wanted] = [amounts(became), amounts(previewed)];
  return came === wanted ? [] : [`Issued: ${came}, and ${wanted} was previewed.`];
}
