/**
 * An operator uses an Idempotency-Key again, for another organisation. Its stored answer is deleted
 * as after 24 hours. IDEMPOTENCY-7
 */
import { expect } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import { tables } from "../../support/rows.ts";
import { adminTest as test } from "./fixtures.ts";

const reason = "Ordered by telephone";
const creations: readonly (readonly [method: string, body: object])[] = [
  [
    "SubscriptionService/CreateSubscription",
    { customerCode: "ACME", planCode: "team", units: 5, reason },
  ],
  ["ApiKeyService/CreateApiKey", { name: "Again", scopes: ["subscriptions:read"] }],
  ["MeterService/CreateMeter", { code: "again", name: "Again" }],
  ["ChargeService/CreateCharge", { code: "again", name: "Again", price: "10.00" }],
  [
    "PlanService/CreatePlan",
    { code: "again", name: "Again", type: "PLAN_TYPE_FLAT_FEE", price: "10.00" },
  ],
  ["WebhookService/CreateWebhookEndpoint", { url: "https://example.com/again" }],
];

test.for(creations)("a key used again for another organisation is a conflict: %s", async ([
  method,
  body,
], { admin, system, own }) => {
  const { organisationId: organisation } = await system.organisation();
  const asked = { idempotencyKey: newId() };
  const deleteStored = () =>
    tables(system.pool).idempotencyKey.deleteMany({ where: { key: asked.idempotencyKey } });
  await admin.done(method, { ...own, ...body }, asked);
  const conflict = expect.stringMatching(/^idempotency_conflict/);
  expect(await admin.refused(method, { organisation, ...body }, asked)).toEqual(conflict);
  await deleteStored();
  expect(await admin.refused(method, { organisation, ...body }, asked)).toEqual(conflict);
  await deleteStored();
  // The first organisation's own repeat still finds what it created.
  await admin.done(method, { ...own, ...body }, asked);
});

test("a key used again for another organisation's test event is a conflict", async ({
  admin,
  system,
  own,
}) => {
  const { organisationId: organisation } = await system.organisation();
  const asked = { idempotencyKey: newId() };
  const method = "WebhookService/SendTestEvent";
  const endpointOf = async (owner: object) => {
    const body = { ...owner, url: "https://example.com/tests" };
    const { endpoint } = await admin.done("WebhookService/CreateWebhookEndpoint", body);
    return { ...owner, id: endpoint.id };
  };
  await admin.done(method, await endpointOf(own), asked);
  const other = await endpointOf({ organisation });
  await tables(system.pool).idempotencyKey.deleteMany({ where: { key: asked.idempotencyKey } });
  expect(await admin.refused(method, other, asked)).toBe("idempotency_conflict Idempotency-Key");
});
