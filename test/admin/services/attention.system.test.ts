/**
 * AttentionService, OverviewService and SearchService over the wire: a document that the ledger
 * refused waits for a person until its retry. ADMIN-17, ADMIN-18, ADMIN-19
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { attentionWords } from "../../../src/admin/services/attention/attention-words.ts";
import { attentionKinds } from "../../../src/store/admin/attention/attention.ts";
import { refreshOverviews } from "../../../src/store/overview/refresh-overviews.ts";
import { adminMethods } from "../../contract/methods.ts";
import { until } from "../../support/system.ts";
import { april, documentsTest as test } from "./documents/documents-fixture.ts";
import { askWith } from "./request.ts";

test("a refused document waits with what helps, and a reader sees it", async ({
  system,
  builder,
  sandbox,
  map,
  retry,
  synced,
}) => {
  const reader = askWith(system, await system.operator("read-only"));
  const made = await sandbox();
  const own = { organisation: made.organisationId };
  const empty = await reader.done("AttentionService/ListAttention", own);
  expect(empty).toEqual({ checked: expect.stringMatching(/^\d{4}-.*Z$/) });
  await map(made, "999");
  const { id } = await builder.subscribe(made, april);
  const [found, ...rest] = await until("it was refused", async () => {
    const { data } = await reader.done("AttentionService/ListAttention", own);
    return data;
  });
  expect(rest).toEqual([]);
  const document = found.objectId;
  expect(found).toMatchObject({
    ...own,
    kind: "ATTENTION_KIND_DOCUMENT_REFUSED",
    severity: "ATTENTION_SEVERITY_MEDIUM",
    objectKind: "invoice",
    reason: "account_invalid",
    message: "The ledger does not take an account of it. Nothing more happens until it is retried.",
    answer: expect.stringContaining("999"),
    sameReasonCount: 1,
    acts: [
      { method: "billing.admin.v1.AccountMappingService/SetAccountMapping" },
      {
        method: "billing.admin.v1.DocumentService/RetryDocument",
        summary: "Retry the document",
        arguments: [
          { name: "organisation", value: own.organisation },
          { name: "id", value: document },
        ],
      },
    ],
  });
  expect(await reader.done("AttentionService/CountAttention", own)).toMatchObject({
    counts: [{ kind: found.kind, severity: found.severity, count: 1 }],
  });
  for (const [asked, count] of [
    [{ severity: "ATTENTION_SEVERITY_HIGH" }, 0],
    [{ kind: "ATTENTION_KIND_DOCUMENT_REFUSED" }, 1],
    [{ kind: "ATTENTION_KIND_DOCUMENT_DRIFT" }, 0],
  ] as const) {
    const { data = [] } = await reader.done("AttentionService/ListAttention", {
      ...own,
      ...asked,
    });
    expect(data).toHaveLength(count);
  }
  const { hits } = await reader.done("SearchService/Search", { text: ` ${found.label} `, ...own });
  expect(hits).toEqual([
    {
      by: "SEARCHED_BY_NUMBER",
      objectKind: "invoice",
      objectId: document,
      organisation: own.organisation,
      label: found.label,
      exact: true,
    },
  ]);
  expect(await reader.done("SearchService/Search", { text: id })).toMatchObject({
    hits: [{ by: "SEARCHED_BY_ID", objectKind: "subscription", objectId: id }],
  });
  await map(made, "200");
  await retry(made, document);
  await synced(made, document);
  expect((await reader.done("AttentionService/ListAttention", own)).data).toBeUndefined();
});

test("an overview has the ledger at once, and figures once a worker reckoned them", async ({
  system,
  admin,
  builder,
  sandbox,
}) => {
  const made = await sandbox();
  const own = { organisation: made.organisationId };
  await builder.subscribe(made, april);
  expect(await admin.done("OverviewService/GetOverview", own)).toMatchObject({
    ledger: { state: "LEDGER_STATE_CONNECTED" },
  });
  // The step of a minute, which the worker may be performing too.
  const step = () => refreshOverviews(system.pool, 100, () => undefined);
  const overview = await until("a worker reckoned it", async () => {
    await step();
    const answer = await admin.done("OverviewService/GetOverview", own);
    return answer.asOf !== undefined && answer;
  });
  expect(overview).toMatchObject({
    today: "2026-04-16",
    subscriptions: [{ status: "SUBSCRIPTION_STATUS_ACTIVE", count: 1 }],
    recurring: [{ subscriptions: 1 }],
  });
});

test("what is asked wrongly is refused", async ({ admin }) => {
  const organisation = randomUUID();
  for (const method of [
    "OverviewService/GetOverview",
    "AttentionService/ListAttention",
    "AttentionService/CountAttention",
  ])
    expect(await admin.refused(method, { organisation })).toBe("organisation_not_found");
  expect(await admin.refused("SearchService/Search", { organisation, text: "a" })).toBe(
    "organisation_not_found",
  );
  for (const text of ["", "x".repeat(256)])
    expect(await admin.refused("SearchService/Search", { text })).toBe("invalid_parameter text");
  expect(await admin.done("SearchService/Search", { text: "  " })).toEqual({});
  expect(await admin.refused("AttentionService/ListAttention", { startingAfter: "x" })).toBe(
    "invalid_parameter starting_after",
  );
});

test.for(attentionKinds)("the acts of %s are methods with these fields", (kind) => {
  for (const reason of ["account_invalid", "consent_expired", ""]) {
    const item = { kind, reason, objectId: "id" } as never;
    expect(attentionWords[kind].message(item)).toMatch(/\.$/);
    const acts = attentionWords[kind].acts(item);
    expect(acts.length).toBeGreaterThan(0);
    for (const { method, arguments: args } of acts) {
      expect(adminMethods).toContain(method);
      const fields = method.input.fields.map(({ name }) => name);
      expect(fields).toEqual(expect.arrayContaining(["organisation", ...Object.keys(args)]));
    }
  }
});
