/** Which organisation of the ledger a consent is for, and what is told of one that fails here rather than there. */
import { describe, expect, test } from "vitest";
import { tenantMeant } from "../../src/admin/consent.ts";

const tenant = (tenantId: string) => ({ connectionId: `connection of ${tenantId}`, tenantId, name: tenantId });

describe("the tenant of a consent", () => {
  test.each([
    ["the only one that it was given for", ["a"], true, null, "a"],
    ["the only one that it was given for, also where another was connected before", ["a"], true, "b", "a"],
    ["of several, the one that was connected before", ["a", "b"], true, "b", "b"],
    ["of several, none where none of them was connected before", ["a", "b"], true, "c", null],
    ["of all that are reached, the one that was connected before", ["a", "b"], false, "b", "b"],
    ["never one that is merely reached, and be it the only one", ["a"], false, null, null],
    ["never one that is merely reached in another's place", ["a"], false, "b", null],
    ["none where none is reached", [], false, "b", null],
  ] as const)("is %s", (_, ids, areOfConsent, before, expected) => {
    const reached = { tenants: ids.map(tenant), areOfConsent };
    expect(tenantMeant(reached, before)?.tenantId ?? null).toBe(expected);
  });
});
