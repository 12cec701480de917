/** The creation of a subscription by the store alone, without the service and the ledger. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { decideCreation } from "../../src/domain/subscriptions/create.ts";
import { newId } from "../../src/store/database/ids.ts";
import type { Store } from "../../src/store/tenant.ts";
import { requestOf } from "../domain/subscriptions/creation-builder.ts";

/** Creates ten units of the plan `team` for the customer `ACME`. Returns the subscription's id. */
export async function createByStore(
  { tenant }: Store,
  organisationId: string,
  now: Date,
): Promise<string> {
  const subscriptionId = newId();
  const { subscriptions } = tenant(organisationId, now);
  const codes = { customerCode: "ACME", planCode: "team", chargeCodes: [] };
  const { facts, catalogueVersion } = await subscriptions.loadCreation({
    subscriptionId,
    ...codes,
  });
  const saved = await subscriptions.saveCreation({
    subscriptionId,
    requestHash: randomBytes(32),
    setupMode: false,
    catalogueVersion,
    decision: decideCreation({ ...facts, now }, requestOf({ ...codes, units: 10 })),
    first: { invoiceId: newId(), jobId: newId() },
    awaitedUntil: now,
  });
  expect(saved).toBe("saved");
  return subscriptionId;
}
