/**
 * A process that publishes an organisation's changes once, as a worker's activity does, and ends at
 * the crash point that BILLING_CRASH_AT names.
 */
import { writeObject } from "../../../src/present/event-objects.ts";
import { createOutboxStore } from "../../../src/store/events/outbox.ts";
import { createPublishingActivities } from "../../../src/worker/activities/events/publish-changes.ts";
import { testPool } from "../../support/pool.ts";

const [databaseUrl = "", organisationId = ""] = process.argv.slice(2);
const pool = testPool(databaseUrl, 1, "publish-once");
const { publishBatch } = createPublishingActivities({
  store: createOutboxStore(pool, writeObject),
  onUnpublished: (_, { error }) => {
    throw error;
  },
  startEvents: async () => true,
  startDeliveries: async () => true,
});
await publishBatch({ organisationId, until: new Date(Date.now() + 60_000).toISOString() });
await pool.end();
