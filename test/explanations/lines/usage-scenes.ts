/** Lines of usage: in arrears, on separate documents or joined, and reported late. */
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { calls, storage } from "../../scenario/usage-billing-fixture.ts";
import { addMeter } from "../../scenario/usage-builder.ts";
import { once, type Scene, type SceneParts } from "./issued-line.ts";

/** A subscription of 1 April with a meter of calls and one of storage. */
async function metered(
  { system, builder, sandbox }: SceneParts,
  changes: Record<string, unknown> = {},
): Promise<readonly [CreatedOrganisation, string]> {
  const organisation = await sandbox("2026-04-01", { usage_allowed: true, ...changes });
  for (const meter of [calls, storage])
    await addMeter(system.pool, organisation.organisationId, meter);
  const { id } = await builder.subscribe(organisation, { start_date: "2026-04-01" });
  return [organisation, id];
}

/** 900 calls and 10 GB of April, then 200 and 1 more that are reported in May. */
const reportedLate = once(async (parts): Promise<CreatedOrganisation> => {
  const [organisation, id] = await metered(parts);
  await parts.use(organisation, id, ["900", "2026-04-01"], ["10", "2026-04-01", "storage"]);
  await parts.to(organisation, "2026-05-10");
  await parts.use(organisation, id, ["200", "2026-04-30"], ["1", "2026-04-30", "storage"]);
  await parts.to(organisation, "2026-06-01");
  return organisation;
});

const callsSheet = "sheet: tiered of team api-calls (1000: 0.02, ∞: 0.01), plan.meters team";
const storageSheet = "sheet: volume of team storage (10: 2, ∞: 1), plan.meters team storage";

/** The scenes by their names. */
export const usageScenes = {
  "usage in arrears on the renewal invoice": {
    issue: async (parts) => {
      const [organisation, id] = await metered(parts);
      await parts.use(organisation, id, ["1000.5", "2026-04-01"], ["499.5", "2026-04-01"]);
      await parts.to(organisation, "2026-05-01");
      return { organisation, number: "INV-0002", line: 1 };
    },
    reads: [
      "usage/1",
      "quantity: 1500 quantity, usage_bill.quantity it api-calls period 0 bill 0 events 2",
      "before: 0 quantity, usage_bill.before it api-calls period 0 bill 0",
      "priced: 0 quantity, usage_bill.priced it api-calls period 0 bill 0",
      `${callsSheet} api-calls`,
      "whole = add before quantity = 1500",
      "uncovered = sub before priced = 0",
      "value_whole = tier_walk whole sheet = 1000 × 0.02 + 500 × 0.01 = 25",
      "value_priced = tier_walk priced sheet = nothing = 0",
      "difference = sub value_whole value_priced = 25",
      "amount = round difference places = 25",
      "25.0000",
    ],
  },
  "usage in arrears on a separate invoice": {
    issue: async (parts) => {
      const [organisation, id] = await metered(parts, { first_invoice_status: "approved" });
      await parts.use(organisation, id, ["250", "2026-04-01"]);
      await parts.to(organisation, "2026-05-01");
      const invoices = await parts.builder.invoices(organisation, id);
      return { organisation, number: invoices.find(({ type }) => type === "usage").number };
    },
    reads: [
      "usage/1",
      "quantity: 250 quantity, usage_bill.quantity it api-calls period 0 bill 0 events 1",
      "before: 0 quantity, usage_bill.before it api-calls period 0 bill 0",
      "priced: 0 quantity, usage_bill.priced it api-calls period 0 bill 0",
      `${callsSheet} api-calls`,
      "whole = add before quantity = 250",
      "uncovered = sub before priced = 0",
      "value_whole = tier_walk whole sheet = 250 × 0.02 = 5",
      "value_priced = tier_walk priced sheet = nothing = 0",
      "difference = sub value_whole value_priced = 5",
      "amount = round difference places = 5",
      "5.0000",
    ],
  },
  "late usage": {
    issue: async (parts) => ({
      organisation: await reportedLate(parts),
      number: "INV-0003",
      line: 1,
    }),
    reads: [
      "usage/1",
      "quantity: 200 quantity, usage_bill.quantity it api-calls period 0 bill 1 events 1",
      "before: 900 quantity, usage_bill.before it api-calls period 0 bill 1",
      "priced: 900 quantity, usage_bill.priced it api-calls period 0 bill 1",
      `${callsSheet} api-calls`,
      "whole = add before quantity = 1100",
      "uncovered = sub before priced = 0",
      "value_whole = tier_walk whole sheet = 1000 × 0.02 + 100 × 0.01 = 21",
      "value_priced = tier_walk priced sheet = 900 × 0.02 = 18",
      "difference = sub value_whole value_priced = 3",
      "amount = round difference places = 3",
      "3.0000",
    ],
  },
  "late usage that costs less": {
    issue: async (parts) => ({ organisation: await reportedLate(parts), number: "CN-0001" }),
    reads: [
      "usage/1",
      "quantity: 1 quantity, usage_bill.quantity it storage period 0 bill 1 events 1",
      "before: 10 quantity, usage_bill.before it storage period 0 bill 1",
      "priced: 10 quantity, usage_bill.priced it storage period 0 bill 1",
      storageSheet,
      "whole = add before quantity = 11",
      "uncovered = sub before priced = 0",
      "value_whole = volume_band whole sheet = 11 × 1 = 11",
      "value_priced = volume_band priced sheet = 10 × 2 = 20",
      "difference = sub value_whole value_priced = -9",
      "amount = round difference places = -9",
      "credit = neg amount = 9",
      "9.0000",
    ],
  },
} as const satisfies Readonly<Record<string, Scene>>;
