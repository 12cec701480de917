/** The fixtures of tests of create subscription: sandboxes whose clock stands still. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { scenarioTest } from "./fixtures.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { addLike, addTiers } from "./row-builder.ts";

/** 31 January in Auckland (16:00) and 30 January in Los Angeles (19:00). */
const now = "2026-01-31T03:00:00Z";

let keys = 0;
const newKey = () => `key-${++keys}`;

/** Tests in sandboxes. `create` and `created` use the sandbox `shared` by default. */
export const creationTest = scenarioTest
  .extend(
    "sandbox",
    perFile,
    ({ system }) =>
      (changes: Record<string, unknown> = {}, currency = "NZD"): Promise<CreatedOrganisation> =>
        system.organisation({ livemode: false, currency }, { test_clock: now, ...changes }),
  )
  .extend("shared", perFile, ({ sandbox }) => sandbox())
  .extend(
    "create",
    perFile,
    ({ ask, shared }) =>
      (body: object, { apiKey } = shared, idempotencyKey = newKey()) =>
        ask("POST", "/v1/subscriptions", {
          key: apiKey,
          idempotencyKey,
          body: { customer_code: "ACME", ...body },
        }),
  )
  .extend(
    "created",
    perFile,
    ({ create, shared }) =>
      async (body: object, organisation = shared) => {
        const answer = await create(body, organisation);
        expect(answer.status, answer.text).toBe(201);
        return answer.json;
      },
  );

/**
 * Tests of refusals, in a sandbox with an inactive customer GONE, plans and charges of every
 * status, a charge in dollars, and a plan with bounds.
 */
export const refusedCreationTest = scenarioTest
  .extend("own", perFile, async ({ system }) => {
    const own = await system.organisation({ livemode: false }, { test_clock: now });
    const { pool } = system;
    const { organisationId } = own;
    await addLike(pool, "customers", organisationId, "ACME", { code: "GONE", status: "inactive" });
    for (const status of ["draft", "inactive", "legacy"]) {
      await addLike(pool, "plans", organisationId, "team", { code: `team-${status}`, status });
      const charge = { code: `onboarding-${status}`, status };
      await addLike(pool, "charges", organisationId, "onboarding", charge);
    }
    const dollars = { code: "dollars", currency: "USD" };
    await addLike(pool, "charges", organisationId, "onboarding", dollars);
    const bounded = { code: "bounded", minimum_units: 2, free_units: 3 };
    const planId = await addLike(pool, "plans", organisationId, "growth", bounded);
    await addTiers(pool, organisationId, planId, [
      [5, "7", null],
      [10, "6", null],
    ]);
    return own;
  })
  .extend(
    "send",
    perFile,
    ({ ask, own }) =>
      async (body: unknown, headers: Record<string, string> = {}) => {
        const path = "/v1/subscriptions";
        const options = { key: own.apiKey, idempotencyKey: newKey(), body, headers };
        const answer = await ask("POST", path, options);
        if (answer.status >= 400) await expectRefusedAlike(ask, path, options, answer);
        return answer;
      },
  );
