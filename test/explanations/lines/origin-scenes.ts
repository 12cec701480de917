/** Lines of changes of units by what had set the units from which they start. */
import { setOrganisation, tables } from "../../support/rows.ts";
import type { Scene } from "./issued-line.ts";
import { april, may, proration } from "./proration-text.ts";
import { inWindow, voidInLedger } from "./window-scene.ts";

const half = { prorate: true, effective_date: "2026-04-16" };
const separate = { document: "separate" };
const start = { start_date: "2026-04-01" };
const sheet = "sheet: per_unit of team it (10), subscription.price_override it";

/** A change from units that `by` set, at 10.00 a unit. */
const charged = (
  { dates, days }: typeof april | typeof may,
  by: string,
  [from, to]: readonly [number, number],
) => {
  const [inPeriod, remaining] = days;
  const difference = (to - from) * 10;
  const amount = (difference * remaining) / inPeriod;
  return proration({
    ...{ dates, days, by, sheet },
    units: [`${from}`, `${to}`],
    lists: ["price_each", `${from} × 10 = ${from}0`, `${to} × 10 = ${to}0`],
    difference: `${difference}`,
    share: [`${difference * remaining}`, `${amount}`],
    amounts: [`amount = round share places = ${amount}`, `${amount}.0000`],
  });
};

/** The scenes by their names. */
export const originScenes = {
  "units that an earlier change set": {
    issue: async ({ builder, sandbox }) => {
      const organisation = await sandbox("2026-04-16", { first_invoice_status: "approved" });
      const { id } = await builder.subscribe(organisation, start);
      for (const units of [12, 14]) await builder.changed(organisation, id, { units, ...half });
      return { organisation, number: "INV-0003" };
    },
    reads: charged(april, "unit_change.units to 12", [12, 14]),
  },
  "units of a period that began in Setup Mode": {
    issue: async ({ builder, sandbox, system }) => {
      const organisation = await sandbox("2026-04-16", { setup_mode: true });
      const { id } = await builder.subscribe(organisation, start);
      await setOrganisation(system.pool, organisation.organisationId, { setupMode: false });
      await builder.changed(organisation, id, { units: 12, ...half });
      return { organisation, number: "INV-0001" };
    },
    reads: charged(april, "period.setup_mode it period 0", [10, 12]),
  },
  "units that a process of an earlier version set": {
    issue: async ({ builder, sandbox, system }) => {
      const organisation = await sandbox("2026-04-16", { first_invoice_status: "approved" });
      const { id } = await builder.subscribe(organisation, start);
      await tables(system.pool).period.updateMany({
        where: { subscriptionId: id },
        data: { billedUnits: 12 },
      });
      await builder.changed(organisation, id, { units: 14, ...half });
      return { organisation, number: "INV-0002" };
    },
    reads: charged(april, "period.billed_units it period 0", [12, 14]),
  },
  "units of a renewal invoice that a person removed": {
    issue: async (parts) => {
      const { builder, system } = parts;
      const [organisation, { id }] = await inWindow(parts, "approved");
      await builder.changed(organisation, id, { units: 12, ...half, document: "amend" });
      await builder.posted(organisation);
      await voidInLedger(system, organisation, "INV-0002");
      await tables(system.pool).invoice.updateMany({
        where: { organisationId: organisation.organisationId, number: "INV-0002" },
        data: { status: "voided", amountDue: 0 },
      });
      await builder.changed(organisation, id, { units: 14, ...separate });
      return { organisation, number: "INV-0003" };
    },
    reads: charged(may, "unit_change.units to 12", [12, 14]),
  },
  "units of a renewal invoice that a restoration issued": {
    issue: async (parts) => {
      const { builder } = parts;
      const [organisation, { id }] = await inWindow(parts, "draft");
      await builder.ended(organisation, id, { when: "period_end" });
      await builder.changed(organisation, id, { units: 12 });
      await builder.restored(organisation, id);
      await builder.posted(organisation);
      await builder.changed(organisation, id, { units: 14, ...separate });
      return { organisation, number: "INV-0004" };
    },
    reads: charged(may, "unit_change.units to 12", [12, 14]),
  },
  "units that come back as an amendment is abandoned": {
    issue: async (parts) => {
      const { builder, system } = parts;
      const [organisation, { id }] = await inWindow(parts, "approved");
      await builder.changed(organisation, id, { units: 12, document: "amend" });
      await builder.posted(organisation);
      await voidInLedger(system, organisation, "INV-0002");
      await builder.changed(organisation, id, { units: 6, document: "amend" });
      await builder.changed(organisation, id, { units: 14, ...separate });
      return { organisation, number: "INV-0003" };
    },
    reads: charged(may, "unit_change.units to 12", [12, 14]),
  },
} as const satisfies Readonly<Record<string, Scene>>;
