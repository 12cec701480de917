/** Events that can no longer be resent are deleted. EVENT-5. */
import { expect } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import { deleteExpiredEvents } from "../../../src/store/events/delete-expired-events.ts";
import { publishingTest as test } from "./publish-fixture.ts";

test("events of 30 days are deleted with deliveries, unless one is being delivered", async ({
  fixture,
}) => {
  const own = await fixture.listening();
  const endpoint = await fixture.endpoint(own);
  const event = async (age: string, state: string | null): Promise<string> => {
    const id = newId();
    await fixture.pool.query(
      `INSERT INTO events
          (id, organisation_id, type, object_kind, object_id, sequence, body, created_at)
        VALUES ($1, $2, 'customer.updated', 'customer', $1, 1, '{}', now() - $3::interval)`,
      [id, own, age],
    );
    if (state === null) return id;
    await fixture.pool.query(
      `INSERT INTO webhook_deliveries
          (id, organisation_id, event_id, endpoint_id, state, due_at, finished_at, attempts)
        VALUES ($1, $2, $1, $3, $4, CASE $4 WHEN 'pending' THEN now() END,
          CASE $4 WHEN 'pending' THEN NULL ELSE now() END, 1)`,
      [id, own, endpoint, state],
    );
    await fixture.pool.query(
      `INSERT INTO webhook_attempts (organisation_id, delivery_id, number, at, latency_ms)
        VALUES ($1, $2, 1, now(), 1)`,
      [own, id],
    );
    return id;
  };
  await event("31 days", null);
  await event("31 days", "delivered");
  await event("32 days", "exhausted");
  const kept = [
    await event("31 days", "pending"),
    await event("29 days", "delivered"),
    await event("29 days", null),
  ];
  expect(await deleteExpiredEvents(fixture.pool, 2)).toBe(2);
  expect(await deleteExpiredEvents(fixture.pool, 2)).toBe(1);
  expect(await deleteExpiredEvents(fixture.pool, 2)).toBe(0);
  const left = await fixture.pool.query<{ id: string }>(
    "SELECT id FROM events WHERE object_id = id ORDER BY id",
  );
  expect(left.rows.map(({ id }) => id)).toEqual(kept.sort());
  const attempts = await fixture.pool.query(
    "SELECT delivery_id AS id FROM webhook_attempts ORDER BY 1",
  );
  expect(attempts.rows.map(({ id }) => id)).toEqual(kept.slice(0, 2).sort());
});
