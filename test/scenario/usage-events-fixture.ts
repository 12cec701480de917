/** The fixtures of tests of usage events: a metered subscription, and what is stored of events. */
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { billingFixture } from "../store/billing/billing-fixture.ts";
import { perFile, started, stopInTime } from "../support/file-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { aloneTest } from "./fixtures.ts";
import type { Json } from "./units-builder.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";

/** Noon UTC of this day is what the clocks show. */
const today = "2026-05-10";

/** The instant of `event` by default. */
export const at = "2026-05-09T10:00:00Z";

/**
 * Tests of usage events. `organisation` creates a sandbox whose key may write usage. `event` is a
 * valid event of `subscription`, with these changes. `stored` returns what is stored under an id.
 */
export const usageEventsTest = aloneTest
  // Nothing is posted to the ledger here, so no worker is needed.
  .extend(
    "settings",
    perFile,
    started(() => ({ without: ["worker"] as const })),
  )
  .extend("sandboxes", perFile, async ({ system }, { onCleanup }) => {
    const sandboxes = await billingFixture({
      url: system.databaseUrl,
      drop: async () => undefined,
    });
    onCleanup(() => stopInTime(() => sandboxes.drop()));
    return sandboxes;
  })
  .extend(
    "organisation",
    perFile,
    ({ system, sandboxes }) =>
      async (changes: Record<string, unknown> = {}): Promise<CreatedOrganisation> => {
        const allowed = { usage_allowed: true, ...changes };
        const organisationId = await sandboxes.sandbox(today, allowed);
        const { id, value } = await addApiKey(system.pool, organisationId, ["usage:write"], {
          livemode: false,
        });
        return { organisationId, apiKeyId: id, apiKey: value, tenantId: "" };
      },
  )
  .extend("metered", perFile, async ({ system, sandboxes, organisation }) => {
    const own = await organisation();
    const meterId = await addMeter(system.pool, own.organisationId);
    const subscription = await sandboxes.subscribe(own.organisationId, {
      startDate: "2026-04-20",
      timezone: "Pacific/Auckland",
    });
    return { own, meterId, subscription };
  })
  .extend("own", perFile, ({ metered }) => metered.own)
  .extend("meterId", perFile, ({ metered }) => metered.meterId)
  .extend("subscription", perFile, ({ metered }) => metered.subscription)
  .extend(
    "event",
    perFile,
    ({ subscription }) =>
      (changes: object = {}): Json =>
        usageEvent(subscription, at, changes),
  )
  .extend(
    "stored",
    perFile,
    ({ system, own }) =>
      async (eventId: string, { organisationId } = own): Promise<Json | undefined> => {
        const { rows } = await system.pool.query(
          `SELECT subscription_id, meter_id, period_index, bill, quantity::text,
            to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS at,
            created_at FROM usage_events WHERE organisation_id = $1 AND event_id = $2`,
          [organisationId, eventId],
        );
        return rows[0];
      },
  );
