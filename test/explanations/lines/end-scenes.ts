/** Lines of ends, restorations and of amendments that no ledger takes. */
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { endPause } from "../../faults/ledger-documents.ts";
import { newestJob } from "../../support/rows.ts";
import { until } from "../../support/until.ts";
import { once, type Scene, type SceneParts } from "./issued-line.ts";
import { may, proration } from "./proration-text.ts";
import { inWindow } from "./window-scene.ts";

const half = { prorate: true, effective_date: "2026-04-16" };
const amend = { units: 13, ...half, document: "amend" };
const separate = { ...half, document: "separate" };
const sheet = "sheet: per_unit of team it (10), subscription.price_override it";

/** What a change billed separately of the next period is reversed by an end. */
const reversed =
  (number: string, change: object, body: object = {}): Scene["issue"] =>
  async (parts) => {
    const { builder } = parts;
    const [organisation, { id }] = await inWindow(parts, "approved", body);
    await builder.changed(organisation, id, change);
    await builder.posted(organisation);
    await builder.ended(organisation, id, { when: "period_end" });
    return { organisation, number };
  };

/** Amends a renewal invoice that only the ledger knows to be paid. */
async function refusedForGood(parts: SceneParts, change: object): Promise<CreatedOrganisation> {
  const { builder } = parts;
  const [organisation, { id }] = await inWindow(parts, "approved");
  const [renewal] = await builder.invoices(organisation, id);
  await builder.pay(organisation, renewal, renewal.total);
  await builder.changed(organisation, id, change);
  return organisation;
}

const increaseRefused = once((parts) => refusedForGood(parts, amend));

/** Breaks off an amendment while the ledger's connection is paused. */
const brokenOff = once(async (parts): Promise<CreatedOrganisation> => {
  const { builder, admin, system } = parts;
  const [organisation, { id }] = await inWindow(parts, "draft");
  const { organisationId } = organisation;
  await system.pool.query(
    `UPDATE ledger_connections SET paused_until = now() + interval '1 day',
      paused_reason = 'closed' WHERE organisation_id = $1`,
    [organisationId],
  );
  const waiting = builder.change(organisation, id, amend);
  await until("the amendment waits", () =>
    newestJob(system.pool, { subscriptionId: id, kind: "amend_invoice" }),
  );
  const reason = "The ledger was closed";
  await admin.done("SubscriptionService/BreakOff", { organisation: organisationId, id, reason });
  await endPause(system, organisationId);
  await waiting;
  return organisation;
});

/** The next period's difference, which the amendment would have billed. */
const nextPeriod = proration({
  ...may,
  units: ["10", "13"],
  sheet,
  lists: ["price_each", "10 × 10 = 100", "13 × 10 = 130"],
  difference: "30",
  share: ["930", "30"],
  amounts: ["amount = round share places = 30", "30.0000"],
});

const tenUnits = [
  "plan/1",
  "units: 10 units, subscription.units it",
  "discount_percent: 0 percent, subscription.discount_percent it",
  sheet,
  "priced = units_to_price units sheet = 10",
  "list = price_each priced sheet = 10 × 10 = 100",
  "value = less_percent list discount_percent = 100",
  "amount = round value places = 100",
  "100.0000",
];

/** The scenes by their names. */
export const endScenes = {
  "a proration down": {
    issue: async (parts) => ({
      organisation: await refusedForGood(parts, { units: 6, document: "amend" }),
      number: "CN-0001",
    }),
    reads: proration({
      ...may,
      units: ["10", "6"],
      sheet,
      lists: ["price_each", "10 × 10 = 100", "6 × 10 = 60"],
      difference: "-40",
      share: ["-1240", "-40"],
      amounts: ["amount = round share places = -40", "credit = neg amount = 40", "40.0000"],
    }),
  },
  "a credit for a period that does not begin": {
    issue: reversed("CN-0001", { units: 12, ...separate }),
    reads: [
      "reversal_credit/1",
      "billed: 20 NZD, invoice_line.amount INV-0003.1",
      "opposite = sum = 0",
      "earlier = sum = 0",
      "left = excess opposite earlier = 0",
      "compensated = min left billed = 0",
      "amount = sub billed compensated = 20",
      "20.0000",
    ],
  },
  "a charge for a period that does not begin": {
    issue: reversed("INV-0003", { units: 11, ...separate }, { plan_code: "bands" }),
    reads: [
      "reversal_charge/1",
      "credited_1: 12 NZD, credit_note_line.amount CN-0001.1",
      "credited = sum credited_1 = 12",
      "charged = sum = 0",
      "amount = sub credited charged = 12",
      "12.0000",
    ],
  },
  "a line that is issued again": {
    issue: async (parts) => {
      const { builder } = parts;
      const [organisation, { id }] = await inWindow(parts, "draft");
      const both = { delete_unsent_invoices: true, void_approved_invoices: true };
      await builder.ended(organisation, id, { when: "now", ...both });
      await builder.restored(organisation, id);
      return { organisation, number: "INV-0003" };
    },
    reads: [...tenUnits, "reissues INV-0001.0 of INV-0001"],
  },
  "an amendment that the ledger refuses for good": {
    issue: async (parts) => ({
      organisation: await increaseRefused(parts),
      number: "INV-0003",
      line: 1,
    }),
    reads: nextPeriod,
  },
  "the line of an amendment that the ledger refuses for good": {
    issue: async (parts) => ({ organisation: await increaseRefused(parts), number: "INV-0002" }),
    reads: tenUnits,
  },
  "an amendment that is broken off": {
    issue: async (parts) => ({ organisation: await brokenOff(parts), number: "INV-0003", line: 1 }),
    reads: nextPeriod,
  },
  "the line of an amendment that is broken off": {
    issue: async (parts) => ({ organisation: await brokenOff(parts), number: "INV-0002" }),
    reads: tenUnits,
  },
} as const satisfies Readonly<Record<string, Scene>>;
