/** The terms of a new subscription: units, start, discount, charges, and how long it runs. */
import { TextInput } from "@mantine/core";
import { useState } from "react";
import styles from "../../../act/act.module.css";
import { FieldRow } from "../../../act/fields.tsx";
import { useOrganisation } from "../../../data/organisation.tsx";
import { Disclosure } from "../../../design/page/disclosure.tsx";
import { grouped } from "../../../design/values/money.tsx";
import type { Plan } from "../../../gen/billing/admin/v1/catalogue_pb.ts";
import { PlanType } from "../../../gen/billing/v1/catalogue_pb.ts";
import { typedUnits } from "../acts/typed-units.ts";
import { Charges, type ChosenCharge, chargesOf } from "./charges.tsx";

/** What is typed. An empty text is left out of the request. */
interface Typed {
  readonly units: string;
  readonly startDate: string;
  readonly discountPercent: string;
  readonly price: string;
  readonly minimumUnits: string;
  readonly endAfterCycles: string;
  readonly billingDay: string;
  readonly label: string;
  readonly invoiceReference: string;
}

/** Returns what is typed, and the request of it. */
export function useTerms(plan: Plan) {
  const { today } = useOrganisation();
  const hasUnits = plan.type !== PlanType.FLAT_FEE;
  const [typed, setTyped] = useState<Typed>({
    units: hasUnits ? String(Math.max(plan.minimumUnits, 1)) : "",
    startDate: today,
    discountPercent: "",
    price: "",
    minimumUnits: "",
    endAfterCycles: "",
    billingDay: "",
    label: "",
    invoiceReference: "",
  });
  const [charges, setCharges] = useState<readonly ChosenCharge[]>([]);
  const set = (name: keyof Typed, value: string) => setTyped({ ...typed, [name]: value });
  return { typed, set, charges, setCharges, request: requestOf(typed, charges, hasUnits) };
}

/** Returns the request, or null while it is incomplete. */
function requestOf(typed: Typed, charges: readonly ChosenCharge[], hasUnits: boolean) {
  const { units, minimumUnits, endAfterCycles, billingDay, ...texts } = typed;
  const numbers = { units, minimumUnits, endAfterCycles, billingDay };
  const wrong = Object.values(numbers).some(
    (text) => text !== "" && typedUnits(text) === undefined,
  );
  if (wrong || (hasUnits && units === "") || texts.startDate === "") return null;
  const given = (members: object) =>
    Object.entries(members).filter(([, text]) => text.trim() !== "");
  return {
    ...Object.fromEntries(given(texts).map(([name, text]) => [name, text.trim()])),
    ...Object.fromEntries(given(numbers).map(([name, text]) => [name, typedUnits(text)])),
    charges: chargesOf(charges),
  };
}

/** The fields. */
export function Terms({
  plan,
  terms,
}: {
  readonly plan: Plan;
  readonly terms: ReturnType<typeof useTerms>;
}) {
  const { typed, set } = terms;
  const hasUnits = plan.type !== PlanType.FLAT_FEE;
  const words = plan.unitLabels?.plural ?? "units";
  const text = (name: keyof Typed, label: string, description?: string, type = "text") => (
    <TextInput
      {...{ label, description, type }}
      autoComplete="off"
      value={typed[name]}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  );
  const least = plan.minimumUnits > 0 ? `At least ${grouped(plan.minimumUnits)}` : "How many";
  return (
    <>
      <FieldRow>
        {hasUnits && text("units", `Units: ${words}`, least)}
        {text("startDate", "Starts", "Its periods begin on this day", "date")}
        {text("discountPercent", "Discount in %", "On plan and proration lines")}
      </FieldRow>
      <FieldRow>
        {text("label", "Label", "Names it on these pages")}
        {text("invoiceReference", "Reference on invoices", "Such as their order's number")}
      </FieldRow>
      <Charges plan={plan} charges={terms.charges} onChange={terms.setCharges} />
      <Disclosure title="More terms">
        <div className={styles.fields}>
          <FieldRow>
            {plan.allowsPriceOverride && text("price", "Price", "In place of the plan's")}
            {hasUnits && text("minimumUnits", `Fewest ${words}`, "In place of the plan's")}
          </FieldRow>
          <FieldRow>
            {text("endAfterCycles", "Ends after periods", "Without end if empty")}
            {text("billingDay", "Day of the month", "Of the start if empty")}
          </FieldRow>
        </div>
      </Disclosure>
    </>
  );
}
