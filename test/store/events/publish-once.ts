/** A process that tells an organisation's changes once, as a worker's activity does, and dies where BILLING_CRASH_AT says so. */

import { writeObject } from "../../../src/main/render-event-object.ts";
import { createTelling } from "../../../src/store/events/outbox.ts";
import { createTellingActivities } from "../../../src/worker/activities/events/publish-changes.ts";
import { testPool } from "../../support/pool.ts";

const [databaseUrl = "", organisationId = ""] = process.argv.slice(2);
const pool = testPool(databaseUrl, 1, "tell-once");
const { tellRound } = createTellingActivities({
  store: createTelling(pool, writeObject),
  onUntold: (_, { error }) => {
    throw error;
  },
  startEvents: async () => true,
  startDeliveries: async () => true,
});
await tellRound({ organisationId, until: new Date(Date.now() + 60_000).toISOString() });
await pool.end();
