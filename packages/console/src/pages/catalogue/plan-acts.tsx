/** Creates and edits a plan. Its price curve is drawn as one types. */
import { useNavigate } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import { Act, type Typed } from "../../forms/act.tsx";
import { type Field, Fields, isTicked, textOf, type Values, wholeOf } from "../../forms/fields.tsx";
import styles from "../../forms/forms.module.css";
import { type Plan, PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";
import { intervalText } from "../../words/choices.ts";
import { MeterInputs, metersOf, type TypedMeter, typedMeters } from "./meter-inputs.tsx";
import { PlanCurve } from "./plan-curve.tsx";
import { TierInputs } from "./tier-inputs.tsx";
import { emptyTiers, hasTiers, pricesOf, type TypedTier, typedPrices } from "./typed-prices.ts";

const method = PlanService.method;

const typeWords = [
  [PlanType.PER_UNIT, "A price for each unit, such as a seat"],
  [PlanType.FLAT_FEE, "A flat fee"],
  [PlanType.TIERED, "Tiered: units in a tier cost its price"],
  [PlanType.VOLUME, "Volume: all units cost the price of the tier they reach"],
  [PlanType.STAIRSTEP, "Stairstep: a price for each step"],
] as const;

const months = [1, 2, 3, 6, 12, 24, 36] as const;

function fieldsOf(currency: string, plan?: Plan): Field[] {
  const count = plan?.interval?.count ?? 1;
  const present = plan?.interval?.unit === "year" ? count * 12 : count;
  const choices = [...new Set<number>([...months, present])].toSorted((a, b) => a - b);
  return [
    { name: "name", label: "Name", initial: plan?.name, about: "It stands on invoices." },
    {
      name: "code",
      label: "Code",
      initial: plan?.code,
      about: "How the platform names it, such as: team-monthly.",
      max: 100,
    },
    {
      name: "type",
      label: "What is paid for",
      initial: plan && String(plan.type),
      choices: typeWords.map(([type, words]) => [String(type), words]),
    },
    {
      name: "interval_months",
      label: "Billed each",
      initial: String(present),
      choices: choices.map((each) => [String(each), intervalText({ unit: "month", count: each })]),
    },
    { name: "currency", label: "Currency", initial: plan?.currency ?? currency, max: 3 },
  ];
}

const wordFields = (plan?: Plan): Field[] => [
  {
    name: "unit_singular",
    label: "A unit is called",
    about: "Such as: seat.",
    initial: plan?.unitLabels?.singular,
    isOptional: true,
    max: 50,
  },
  {
    name: "unit_plural",
    label: "Several are called",
    about: "Such as: seats.",
    initial: plan?.unitLabels?.plural,
    isOptional: true,
    max: 50,
  },
];

const override = (plan?: Plan): Field => ({
  name: "allows_price_override",
  label: "A subscription may have another price",
  kind: "box",
  initial: plan?.allowsPriceOverride ? "yes" : "",
});

/** What is typed beside the plain fields. They are asked for as the type needs them. */
function hidden(plan?: Plan): Field[] {
  const prices = plan && typedPrices(plan);
  return Object.entries({
    price: prices?.price ?? "",
    minimum_units: String(plan?.minimumUnits || ""),
    free_units: String(plan?.freeUnits || ""),
    tiers: JSON.stringify(prices?.tiers ?? emptyTiers),
    meters: JSON.stringify(typedMeters(plan?.meters ?? [])),
  }).map(([name, initial]) => ({ name, label: name, kind: "hidden", initial, isOptional: true }));
}

const typeOf = (values: Values) => Number(values.type) as PlanType;
const tiersOf = (values: Values): TypedTier[] => JSON.parse(values.tiers ?? "[]");
const typedMetersOf = (values: Values): TypedMeter[] => JSON.parse(values.meters ?? "[]");

/** The members that say what its units cost, or null while something of them is missing. */
function unitPricesOf(values: Values) {
  const type = typeOf(values);
  const price = textOf(values, "price") ?? "";
  const prices = pricesOf({ type, price, tiers: tiersOf(values) });
  if (prices === null || type === PlanType.FLAT_FEE) return prices;
  return {
    ...prices,
    minimumUnits: wholeOf(values, "minimum_units") ?? 0,
    freeUnits: wholeOf(values, "free_units") ?? 0,
  };
}

function membersOf(values: Values) {
  const type = typeOf(values);
  return {
    name: values.name ?? "",
    code: values.code ?? "",
    intervalMonths: Number(values.interval_months),
    currency: (values.currency ?? "").toUpperCase(),
    allowsPriceOverride: isTicked(values, "allows_price_override"),
    ...(type !== PlanType.FLAT_FEE && {
      unitSingular: textOf(values, "unit_singular"),
      unitPlural: textOf(values, "unit_plural"),
    }),
  };
}

/** Prices as the type needs them, and the curve of what they come to. */
function Prices({ typed }: { readonly typed: Typed }) {
  const { values, onType } = typed;
  const type = typeOf(values);
  const isFlat = type === PlanType.FLAT_FEE;
  const units: Field[] = [
    { name: "minimum_units", label: "At least", kind: "whole", isOptional: true },
    { name: "free_units", label: "Free units", kind: "whole", isOptional: true },
  ];
  return (
    <>
      {hasTiers(type) ? (
        <TierInputs
          tiers={tiersOf(values)}
          hasEach={type !== PlanType.STAIRSTEP}
          onChange={(tiers) => onType("tiers", JSON.stringify(tiers))}
        />
      ) : (
        <Fields
          {...typed}
          fields={[{ name: "price", label: isFlat ? "Price" : "Price of a unit", max: 14 }]}
        />
      )}
      {!isFlat && <Curve values={values} />}
      {!isFlat && (
        <div className={styles.pair}>
          <Fields {...typed} fields={[...units, ...wordFields()]} />
        </div>
      )}
      <Fields {...typed} fields={[override()]} />
      <MeterInputs
        typed={typedMetersOf(values)}
        onChange={(meters) => onType("meters", JSON.stringify(meters))}
      />
    </>
  );
}

function Curve({ values }: { readonly values: Values }) {
  const prices = unitPricesOf(values);
  const currency = (values.currency ?? "").toUpperCase();
  if (prices === null || !/^[A-Z]{3}$/.test(currency))
    return <p className="muted">The price curve is drawn here once there are prices.</p>;
  const plan = {
    type: typeOf(values),
    currency,
    price: "0",
    freeUnits: 0,
    minimumUnits: 0,
    ...prices,
  };
  const ends = plan.tiers.flatMap((tier) =>
    "upTo" in tier && tier.upTo !== undefined ? [tier.upTo] : [],
  );
  if (ends.some((end, index) => end <= (ends[index - 1] ?? 0)))
    return <p role="alert">Each tier has to end after the one before it.</p>;
  const plural = textOf(values, "unit_plural");
  return <PlanCurve plan={{ ...plan, ...(plural !== undefined && { unitLabels: { plural } }) }} />;
}

/** Creates a plan, and opens its page. */
export function CreatePlan({ isPrimary = true }: { readonly isPrimary?: boolean }) {
  const { id: organisation, whole } = useOrganisation();
  const navigate = useNavigate();
  const unseen = [...wordFields(), override()].map(
    (field): Field => ({ ...field, kind: "hidden", isOptional: true }),
  );
  return (
    <Act
      label="New plan"
      title="New plan"
      method={method.createPlan}
      isPrimary={isPrimary}
      fields={[...fieldsOf(whole.defaultCurrency), ...hidden(), ...unseen]}
      request={(values) => {
        const [prices, meters] = [unitPricesOf(values), metersOf(typedMetersOf(values))];
        if (prices === null || meters === null) return null;
        return { organisation, type: typeOf(values), ...membersOf(values), ...prices, meters };
      }}
      effect={({ name }) => (name?.trim() ? `Create ${name.trim()}` : "Create the plan")}
      about="It begins as a draft: activate it on its page once it is right."
      done={({ plan }) => `${plan?.name} was created, as a draft`}
      onDone={({ plan }) =>
        plan &&
        navigate({ to: "/o/$organisation/plans/$id", params: { organisation, id: plan.id } })
      }
    >
      {(typed) => <Prices typed={typed} />}
    </Act>
  );
}

/** Edits a plan: all of it, or its words once a subscription has it. */
export function EditPlan({ plan }: { readonly plan: Plan }) {
  const { id: organisation } = useOrganisation();
  const { id, name, currency, type } = plan;
  const shared = { label: "Edit", title: `Edit ${name}`, method: method.updatePlan };
  const saved = { effect: "Save", done: `${name} was saved` };
  if (plan.subscriptions > 0)
    return (
      <Act
        {...shared}
        {...saved}
        fields={[
          { name: "name", label: "Name", initial: name },
          ...(type === PlanType.FLAT_FEE ? [] : wordFields(plan)),
          override(plan),
        ]}
        request={(values) => ({
          organisation,
          id,
          name: values.name,
          unitSingular: textOf(values, "unit_singular"),
          unitPlural: textOf(values, "unit_plural"),
          allowsPriceOverride: isTicked(values, "allows_price_override"),
        })}
        about={
          "Subscriptions have it, so what it costs cannot be changed. Create another " +
          "plan for another price, and make this one legacy."
        }
      />
    );
  const unseen = [...wordFields(plan), override(plan)].map(
    (field): Field => ({ ...field, kind: "hidden", isOptional: true }),
  );
  const fields = fieldsOf(currency, plan).filter((field) => field.name !== "type");
  const kind: Field = { name: "type", label: "Type", kind: "hidden", initial: String(type) };
  return (
    <Act
      {...shared}
      {...saved}
      fields={[...fields, kind, ...hidden(plan), ...unseen]}
      request={(values) => {
        const [prices, meters] = [unitPricesOf(values), metersOf(typedMetersOf(values))];
        if (prices === null || meters === null) return null;
        const { tiers, ...others } = prices;
        const lists = { tiers: { tiers }, meters: { meters } };
        return { organisation, id, ...membersOf(values), ...others, ...lists };
      }}
      about="No subscription has it yet, so all of it can be changed."
    >
      {(typed) => <Prices typed={typed} />}
    </Act>
  );
}
