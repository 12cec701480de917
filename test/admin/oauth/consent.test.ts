/** Which tenant a consent is for, and what is reported if a consent fails in this system. */
import { describe, expect, test } from "vitest";
import { answerConsent, type LedgerApp, tenantMeant } from "../../../src/admin/oauth/consent.ts";
import type { AdminDependencies } from "../../../src/admin/services/dependencies.ts";
import { Refusal } from "../../../src/domain/refusal.ts";

const tenant = (tenantId: string) => ({
  connectionId: `connection of ${tenantId}`,
  tenantId,
  name: tenantId,
});

describe("the tenant of a consent", () => {
  test.each([
    ["the only one that it was given for", ["a"], true, null, "a"],
    [
      "the only one that it was given for, also where another was connected before",
      ["a"],
      true,
      "b",
      "a",
    ],
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

describe("a consent that fails here", () => {
  const asked = {
    organisationId: "o",
    kind: "xero",
    operatorId: "p",
    operatorName: "P",
    tokenId: "t",
    verifier: "v",
    redirectUrl: "u",
  };

  /** Returns the reported reasons if the app fails so. */
  async function publishedOf(error: Error): Promise<readonly string[]> {
    const reasons: string[] = [];
    const consents = {
      use: async () => asked,
      fail: async (_: string, why: string) => void reasons.push(why),
    };
    const app: Partial<LedgerApp> = { exchange: () => Promise.reject(error) };
    const ledgerApps = new Map([["xero", app]]);
    const parts = { store: { consents }, ledgerApps } as unknown as AdminDependencies;
    const answer = { state: "state", code: "code", error: null };
    await expect(answerConsent(parts, answer, "request")).rejects.toBe(error);
    return reasons;
  }

  test("is reported as failed at once, without the words of the error", async () => {
    expect(await publishedOf(new Error("duplicate key (code)=(secret)"))).toEqual([
      "Something failed on our side: start again.",
    ]);
    const refusal = new Refusal(
      "temporarily_unavailable",
      "SECRET_KEY is not set for this process.",
    );
    expect(await publishedOf(refusal)).toEqual(["SECRET_KEY is not set for this process."]);
  });
});
