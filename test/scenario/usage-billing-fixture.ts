/** The fixtures of tests of billed usage: metered subscriptions, reports, and what was billed. */
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { scenarioTest } from "./fixtures.ts";
import type { Json } from "./units-builder.ts";
import { addMeter, type TestMeter, usageEvent } from "./usage-builder.ts";

const april = { start_date: "2026-04-01" };

/** The first thousand calls at 0.02, more at 0.01. */
export const calls: TestMeter = {
  type: "tiered",
  tiers: [
    [1000, "0.02", null],
    [null, "0.01", null],
  ],
};

/** Ten GB and less at 2.00 each, more than ten at 1.00 each. */
export const storage: TestMeter = {
  code: "storage",
  name: "Storage",
  unitLabel: "GB",
  type: "volume",
  tiers: [
    [10, "2", null],
    [null, "1", null],
  ],
};

/**
 * Tests of billed usage. `metered` creates an organisation on 1 April that takes usage, with its
 * subscription from that day on and these meters. `use` reports so much of a meter as a day began;
 * all of it is stored. `to` advances the clock to a day; the ledger has decided on everything then.
 * `shown` returns a subscription's invoices, oldest first: type, status, and of each line kind,
 * amount and text.
 */
export const meteredTest = scenarioTest
  .extend(
    "metered",
    perFile,
    ({ system, builder }) =>
      async (
        changes: Record<string, unknown> = {},
        meters = [calls],
        body: object = {},
      ): Promise<readonly [CreatedOrganisation, string]> => {
        const own = await builder.sandbox({ usage_allowed: true, ...changes });
        for (const meter of meters) await addMeter(system.pool, own.organisationId, meter);
        const { id } = await builder.subscribe(own, { ...april, ...body });
        return [own, id];
      },
  )
  .extend(
    "use",
    perFile,
    ({ reports }) =>
      (
        own: CreatedOrganisation,
        id: string,
        ...uses: (readonly [quantity: string, day: string, meter?: string])[]
      ) =>
        reports.stored(
          own,
          uses.map(([quantity, day, meter_code = "api-calls"]) =>
            usageEvent(id, `${day}T00:00:00+02:00`, { quantity, meter_code }),
          ),
        ),
  )
  .extend("to", perFile, ({ clocks }) => async (own: CreatedOrganisation, day: string) => {
    await clocks.posted(own);
    await clocks.advanced(own, { to: day });
    await clocks.posted(own);
  })
  .extend(
    "shown",
    perFile,
    ({ builder }) =>
      async (own: CreatedOrganisation, id: string): Promise<readonly (readonly string[])[]> => {
        const invoices = (await builder.invoices(own, id)).toReversed();
        return invoices.map(({ type, status, lines }) => [
          `${type} ${status}`,
          ...lines.map(({ kind, amount, description }: Json) =>
            kind === "usage" ? `${amount} ${description}` : `${kind} ${amount}`,
          ),
        ]);
      },
  );
