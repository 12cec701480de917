/** Lines of changes of units: charged, credited, deferred, joined and amended. */
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { addBands } from "../../scenario/units-builder.ts";
import type { Scene, SceneParts } from "./issued-line.ts";
import { april, proration } from "./proration-text.ts";

const half = { prorate: true, effective_date: "2026-04-16" };
const approved = { first_invoice_status: "approved" };
const ahead = { invoice_create_days: 20 };

/** A subscription of 1 April to ten units at 10.00, on the 16th. */
async function subscribed(
  { builder, sandbox, system }: SceneParts,
  changes: Record<string, unknown>,
  body: object = {},
): Promise<readonly [CreatedOrganisation, string]> {
  const organisation = await sandbox("2026-04-16", changes);
  await addBands(system, organisation);
  const { id } = await builder.subscribe(organisation, { start_date: "2026-04-01", ...body });
  return [organisation, id];
}

/** Its line with this place, after changes of its units. */
const changed =
  (
    place: { readonly number: string; readonly line?: number },
    columns: Record<string, unknown>,
    bodies: readonly object[],
    subscription: object = {},
  ): Scene["issue"] =>
  async (parts) => {
    const [organisation, id] = await subscribed(parts, columns, subscription);
    for (const body of bodies) await parts.builder.changed(organisation, id, body);
    return { organisation, ...place };
  };

const sheet = "sheet: per_unit of team it (10), subscription.price_override it";
const bands = "sheet: volume of bands (10: 10, ∞: 8), plan.price bands";
const noDiscount = "discount_percent: 0 percent, subscription.discount_percent it";

/** Ten units of April to 13, of which half is left. */
const threeMore = proration({
  ...april,
  units: ["10", "13"],
  sheet,
  lists: ["price_each", "10 × 10 = 100", "13 × 10 = 130"],
  difference: "30",
  share: ["450", "15"],
  amounts: ["amount = round share places = 15", "15.0000"],
});

const tenUnits = [
  "units: 10 units, subscription.units it",
  noDiscount,
  sheet,
  "priced = units_to_price units sheet = 10",
  "list = price_each priced sheet = 10 × 10 = 100",
  "value = less_percent list discount_percent = 100",
  "amount = round value places = 100",
  "100.0000",
];

const changedUnits = (units: number) => [
  `units: ${units} units, unit_change.units to ${units}`,
  noDiscount,
  sheet,
  `priced = units_to_price units sheet = ${units}`,
  `list = price_each priced sheet = ${units} × 10 = ${units}0`,
  `value = less_percent list discount_percent = ${units}0`,
  `amount = round value places = ${units}0`,
  `${units}0.0000`,
];

/** The scenes by their names. */
export const changeScenes = {
  "a proration up": {
    issue: changed({ number: "INV-0002" }, approved, [{ units: 13, ...half }]),
    reads: threeMore,
  },
  "a proration with a discount, rounded once": {
    issue: changed({ number: "INV-0002" }, approved, [{ units: 13, ...half }], {
      discount_percent: "3.33",
    }),
    reads: proration({
      ...april,
      units: ["10", "13"],
      discount: "3.33",
      sheet,
      lists: ["price_each", "10 × 10 = 100", "13 × 10 = 130"],
      values: ["96.67", "125.671"],
      difference: "29.001",
      share: ["435.015", "14.5005"],
      amounts: ["amount = round share places = 14.5", "14.5000"],
    }),
  },
  "a change that joins a draft": {
    issue: changed({ number: "INV-0001", line: 1 }, {}, [{ units: 13, ...half }]),
    reads: threeMore,
  },
  "a deferred amount": {
    issue: async (parts) => {
      const [organisation, id] = await subscribed(parts, approved);
      const deferring = { units: 13, ...half, proration_behaviour: "charge_on_renewal" };
      await parts.builder.changed(organisation, id, deferring);
      await parts.to(organisation, "2026-05-01");
      return { organisation, number: "INV-0002", line: 1 };
    },
    reads: threeMore,
  },
  "a volume credit": {
    issue: changed({ number: "CN-0001" }, approved, [{ units: 11, ...half }], {
      plan_code: "bands",
    }),
    reads: proration({
      ...april,
      units: ["10", "11"],
      sheet: bands,
      lists: ["volume_band", "10 × 10 = 100", "11 × 8 = 88"],
      difference: "-12",
      share: ["-180", "-6"],
      amounts: ["amount = round share places = -6", "credit = neg amount = 6", "6.0000"],
    }),
  },
  "an amended line": {
    issue: changed({ number: "INV-0002" }, ahead, [{ units: 13, ...half, document: "amend" }]),
    reads: ["plan/1", ...changedUnits(13), "until 2026-04-16T12:00:00Z", ...tenUnits],
  },
  "a line that is added by an amendment": {
    issue: changed({ number: "INV-0002", line: 1 }, ahead, [
      { units: 13, ...half, document: "amend" },
    ]),
    reads: threeMore,
  },
  "two changes of units in one line": {
    issue: changed({ number: "INV-0002" }, ahead, [
      { units: 12, ...half, document: "amend" },
      { units: 15, ...half, document: "amend" },
    ]),
    reads: ["plan/1", ...changedUnits(15), "until 2026-04-16T12:00:00Z", ...changedUnits(12)],
  },
} as const satisfies Readonly<Record<string, Scene>>;
