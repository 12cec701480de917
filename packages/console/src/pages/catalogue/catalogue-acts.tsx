/** Charges and meters, and the status of whatever is in the catalogue. */
import { useOrganisation } from "../../data/organisation.tsx";
import { Act } from "../../forms/act.tsx";
import { type Field, isTicked, textOf } from "../../forms/fields.tsx";
import styles from "../../forms/forms.module.css";
import {
  type Charge,
  ChargeService,
  type Plan,
  PlanService,
} from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { type Meter, MeterService, MeterStatus } from "../../gen/billing/admin/v1/meters_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";
import { catalogueStates, wordsOf } from "../../words/states.ts";
import { SetMapping } from "../ledger/mapping-act.tsx";

const codeAbout = "How the platform names it. Letters, digits and - without spaces suit.";

/** What each status means to whoever buys. */
const meanings: Readonly<Record<number, string>> = {
  [CatalogueStatus.DRAFT]: "nothing can be created with it yet",
  [CatalogueStatus.ACTIVE]: "new subscriptions can have it",
  [CatalogueStatus.INACTIVE]: "it is no longer used",
  [CatalogueStatus.LEGACY]: "subscriptions keep it, and new ones cannot have it",
};

/** The moves from a status. From others there is none. */
const moves: Readonly<Record<number, readonly CatalogueStatus[]>> = {
  [CatalogueStatus.DRAFT]: [CatalogueStatus.ACTIVE],
  [CatalogueStatus.ACTIVE]: [CatalogueStatus.LEGACY, CatalogueStatus.INACTIVE],
  [CatalogueStatus.LEGACY]: [CatalogueStatus.ACTIVE],
};

/** The one move from a draft or a legacy plan. */
const activation = {
  label: "Activate",
  about: "New subscriptions can have it from then on.",
  fields: [{ name: "status", label: "", kind: "hidden", initial: String(CatalogueStatus.ACTIVE) }],
} as const;

/** What an act on the status asks. */
function statusAct(present: CatalogueStatus, without?: CatalogueStatus) {
  const values = (moves[present] ?? []).filter((value) => value !== without);
  if (values.every((value) => value === CatalogueStatus.ACTIVE)) return activation;
  const choices = values.map((value): [string, string] => [
    String(value),
    `${wordsOf(catalogueStates, value).word}: ${meanings[value] ?? ""}`,
  ]);
  return { label: "Change status", fields: [{ name: "status", label: "Status", choices }] };
}

/** Changes the status of a plan. */
export function SetPlanStatus({ plan: { id, name, status } }: { readonly plan: Plan }) {
  const { id: organisation } = useOrganisation();
  if (moves[status] === undefined) return null;
  return (
    <Act
      {...statusAct(status)}
      title={`Status of ${name}`}
      method={PlanService.method.setPlanStatus}
      isPrimary={status === CatalogueStatus.DRAFT}
      request={(values) => ({ organisation, id, status: Number(values.status) as CatalogueStatus })}
      effect={(values) => `Make it ${wordsOf(catalogueStates, Number(values.status)).word}`}
      done={({ plan }) => `${name} was made ${wordsOf(catalogueStates, plan?.status ?? 0).word}`}
    />
  );
}

const chargeFields = (currency: string, charge?: Charge): Field[] => [
  { name: "name", label: "Name", initial: charge?.name, about: "It stands on invoices." },
  { name: "code", label: "Code", initial: charge?.code, about: codeAbout, max: 100 },
  {
    name: "price",
    label: `Price in ${charge?.currency ?? currency}`,
    initial: charge?.price.replace(/\.?0+$/, ""),
    max: 14,
  },
  {
    name: "description",
    label: "Description",
    kind: "long",
    initial: charge?.description,
    isOptional: true,
    max: 1_000,
  },
  {
    name: "allows_price_override",
    label: "A subscription may have another price",
    kind: "box",
    initial: charge?.allowsPriceOverride ? "yes" : "",
  },
];

const chargeMembers = (values: Readonly<Record<string, string>>) => ({
  name: values.name ?? "",
  code: values.code ?? "",
  price: (values.price ?? "").trim(),
  description: (values.description ?? "").trim(),
  allowsPriceOverride: isTicked(values, "allows_price_override"),
});

/** Creates a charge. */
export function CreateCharge() {
  const { id: organisation, whole } = useOrganisation();
  return (
    <Act
      label="New charge"
      title="New charge"
      method={ChargeService.method.createCharge}
      isPrimary
      fields={chargeFields(whole.defaultCurrency)}
      request={(values) => ({ organisation, ...chargeMembers(values) })}
      effect="Create the charge"
      about="It begins as a draft: activate it once it is right."
      done={({ charge }) => `${charge?.name} was created, as a draft`}
    />
  );
}

/** Changes a charge, and its status. */
export function ChargeActs({ charge }: { readonly charge: Charge }) {
  const { id: organisation } = useOrganisation();
  const { id, name, status, currency } = charge;
  const isUsed = charge.invoiceLines > 0;
  return (
    <div className={styles.inRow}>
      <Act
        isInRow
        label="Edit"
        title={`Edit ${name}`}
        method={ChargeService.method.updateCharge}
        fields={chargeFields(currency, charge).filter(
          (field) => !isUsed || !["code", "price"].includes(field.name),
        )}
        request={(values) => {
          const { code, price, ...words } = chargeMembers(values);
          return { organisation, id, ...words, ...(!isUsed && { code, price }) };
        }}
        effect="Save"
        about={isUsed && "It is on invoices, so that its code and price cannot be changed."}
        done={`${name} was saved`}
      />
      <SetMapping label="Account" name={name} of={{ charge: id }} mapping={charge} />
      {moves[status] && (
        <Act
          isInRow
          {...statusAct(status, CatalogueStatus.LEGACY)}
          title={`Status of ${name}`}
          method={ChargeService.method.setChargeStatus}
          request={(values) => ({
            organisation,
            id,
            status: Number(values.status) as CatalogueStatus,
          })}
          effect={(values) => `Make it ${wordsOf(catalogueStates, Number(values.status)).word}`}
          done={({ charge: became }) =>
            `${name} was made ${wordsOf(catalogueStates, became?.status ?? 0).word}`
          }
        />
      )}
    </div>
  );
}

const meterFields = (meter?: Meter): Field[] => [
  { name: "name", label: "Name", initial: meter?.name },
  {
    name: "unit_label",
    label: "What is counted",
    about: "Such as: calls, GB.",
    initial: meter?.unitLabel,
    isOptional: true,
    max: 50,
  },
];

/** Creates a meter. */
export function CreateMeter() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="New meter"
      title="New meter"
      method={MeterService.method.createMeter}
      isPrimary
      fields={[{ name: "code", label: "Code", about: codeAbout, max: 100 }, ...meterFields()]}
      request={(values) => ({
        organisation,
        code: values.code ?? "",
        name: values.name ?? "",
        unitLabel: textOf(values, "unit_label"),
      })}
      effect="Create the meter"
      about="The platform reports usage to its code. A plan says what it costs."
      done="The meter was created"
    />
  );
}

/** Changes a meter, and whether it takes usage. */
export function MeterActs({ meter }: { readonly meter: Meter }) {
  const { id: organisation } = useOrganisation();
  const { id, name } = meter;
  const isActive = meter.status === MeterStatus.ACTIVE;
  return (
    <div className={styles.inRow}>
      <Act
        isInRow
        label="Edit"
        title={`Edit ${name}`}
        method={MeterService.method.updateMeter}
        fields={meterFields(meter)}
        request={(values) => ({
          organisation,
          id,
          name: values.name,
          unitLabel: textOf(values, "unit_label"),
        })}
        effect="Save"
        done={`${name} was saved`}
      />
      <SetMapping label="Account" name={name} of={{ meter: id }} mapping={meter} />
      <Act
        isInRow
        label={isActive ? "Deactivate" : "Activate"}
        title={isActive ? `Deactivate ${name}` : `Activate ${name}`}
        method={MeterService.method.setMeterStatus}
        request={() => ({
          organisation,
          id,
          status: isActive ? MeterStatus.INACTIVE : MeterStatus.ACTIVE,
        })}
        effect={isActive ? "Deactivate the meter" : "Activate the meter"}
        about={
          isActive
            ? "It takes no usage any more, and cannot be put on a plan. What was reported is " +
              "billed all the same."
            : "It takes usage again."
        }
        done={`${name} was ${isActive ? "deactivated" : "activated"}`}
      />
    </div>
  );
}
