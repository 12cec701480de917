/** The act that sets the units of a subscription. */
import { TextInput } from "@mantine/core";
import { useState } from "react";
import { ActDrawer } from "../../../act/drawer.tsx";
import { Choices, FieldRow } from "../../../act/fields.tsx";
import { useAct } from "../../../act/use-act.ts";
import { failureOf } from "../../../data/failure.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { grouped } from "../../../design/values/money.tsx";
import { SubscriptionService } from "../../../gen/billing/admin/v1/subscriptions_pb.ts";
import {
  ChangeDocument,
  ProrationBehaviour,
  type Subscription,
} from "../../../gen/billing/v1/subscriptions_pb.ts";
import { usePlan } from "../../catalogue/plan-name.tsx";
import type { SubscriptionActProps } from "./acts.tsx";
import { useSubtotals } from "./amended.ts";
import { Previewed } from "./previewed-later.tsx";
import { typedUnits } from "./typed-units.ts";
import { doneOf, effectOf, invoiceDifferences, subscriptionDifferences } from "./words.ts";

/** When the rest of the period is charged: with the next renewal only, or by the day. */
type Charging = "from_renewal" | "now" | "on_renewal";

const chargings = [
  ["now", "By the day, on an invoice now"],
  ["on_renewal", "By the day, on the renewal invoice"],
  ["from_renewal", "From the next renewal on"],
] as const;

/** What the person chose. */
function useUnitsForm({ units: before, id }: Subscription) {
  const { id: organisation, today } = useOrganisation();
  const [text, setText] = useState(String(before));
  const [chosen, setCharging] = useState<Charging>();
  const [effectiveDate, setEffectiveDate] = useState(today);
  const [document, setDocument] = useState<ChangeDocument>();
  const units = typedUnits(text);
  const isMore = units !== undefined && units > before;
  const charging = chosen ?? (isMore ? "now" : "from_renewal");
  const prorated = {
    prorate: true,
    effectiveDate,
    prorationBehaviour:
      charging === "now"
        ? ProrationBehaviour.CHARGE_IMMEDIATELY
        : ProrationBehaviour.CHARGE_ON_RENEWAL,
  };
  const request =
    units === undefined || units === before
      ? null
      : { organisation, id, units, document, ...(charging !== "from_renewal" && prorated) };
  return {
    ...{ text, setText, units, isMore, charging, setCharging },
    ...{ effectiveDate, setEffectiveDate, document, setDocument, request },
  };
}

/** The drawer that changes the units. */
export function ChangeUnits({ subscription, about, onClose, leave }: SubscriptionActProps) {
  const form = useUnitsForm(subscription);
  const labels = usePlan(subscription.plan)?.unitLabels;
  const word = (form.units === 1 ? labels?.singular : labels?.plural) ?? "units";
  const total = `${grouped(form.units ?? 0)} ${word}`;
  const act = useAct({
    method: SubscriptionService.method.changeUnits,
    preview: SubscriptionService.method.previewChangeUnits,
    request: form.request,
    done: ({ subscription: became, change }, answer) => ({
      words: doneOf(
        `${form.isMore ? "Raised" : "Lowered"} to ${total}`,
        answer?.preview,
        [change?.invoice, change?.renewalInvoice],
        subtotals,
      ),
      differences: [
        ...subscriptionDifferences(became, answer?.preview),
        ...invoiceDifferences(change?.renewalInvoice ?? change?.invoice, [
          ...(answer?.preview?.issuedInvoices.filter(({ overdue }) => !overdue) ?? []),
          ...(answer?.preview?.amendedInvoices ?? []),
        ]),
      ],
      leave,
    }),
  });
  const { preview, events } = act.preview ?? {};
  const subtotals = useSubtotals(preview);
  const what = form.units === undefined ? "Change units" : `Change to ${total}`;
  const effect = effectOf(what, preview, subtotals);
  const needsDocument =
    form.document !== undefined || isRefusedFor(act.previewError, "document_required");
  return (
    <ActDrawer
      act={act}
      title="Change units"
      about={about}
      effect={effect}
      onClose={onClose}
      shown={preview && <Previewed {...{ preview, events, before: subscription, subtotals }} />}
    >
      <FieldRow>
        <TextInput
          label={`New total of ${labels?.plural ?? "units"}`}
          description={`Now ${grouped(subscription.units)}${leastText(subscription)}`}
          inputMode="numeric"
          autoComplete="off"
          value={form.text}
          error={form.units === undefined ? "A whole number" : undefined}
          onFocus={(event) => event.currentTarget.select()}
          onChange={(event) => form.setText(event.currentTarget.value)}
        />
        {form.charging !== "from_renewal" && (
          <TextInput
            type="date"
            label="From which day"
            description="Of the present period"
            value={form.effectiveDate}
            onChange={(event) => form.setEffectiveDate(event.currentTarget.value)}
          />
        )}
      </FieldRow>
      <UnitsOptions form={form} needsDocument={needsDocument} />
    </ActDrawer>
  );
}

const leastText = ({ minimumUnits }: Subscription) =>
  minimumUnits > 0 ? `, at least ${grouped(minimumUnits)}` : "";

const isRefusedFor = (error: unknown, code: string) =>
  error !== null && failureOf(error, false).code === code;

/** When it is charged, and on which document. */
function UnitsOptions({
  form,
  needsDocument,
}: {
  readonly form: ReturnType<typeof useUnitsForm>;
  readonly needsDocument: boolean;
}) {
  return (
    <>
      <Choices
        label="Charged"
        choices={chargings}
        value={form.charging}
        onChange={form.setCharging}
      />
      {needsDocument && (
        <Choices
          label="The renewal invoice is issued already"
          choices={[
            [ChangeDocument.AMEND, "Amend it", "It is re-priced, and has the present charge too."],
            [ChangeDocument.SEPARATE, "Leave it", "The change has a separate invoice."],
          ]}
          value={form.document}
          onChange={form.setDocument}
        />
      )}
    </>
  );
}
