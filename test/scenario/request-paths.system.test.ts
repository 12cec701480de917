/** Paths, the public document, Request-Id and running requests. REQUEST-2 to REQUEST-4. */
import { expect } from "vitest";
import { tables } from "../support/rows.ts";
import { type Answered, until } from "../support/system.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { requestsTest as test } from "./requests-fixture.ts";

test("the document is public, equal under both addresses, and not sent if unchanged", async ({
  ask,
  second,
}) => {
  const first = await ask("GET", "/v1/openapi.json");
  expect(first.json).toMatchObject({
    openapi: expect.stringMatching(/^3\.1\./),
    info: { version: "1.0.0" },
  });
  expect(first.headers.get("Content-Type")).toMatch(/^application\/json/);
  const etag = first.headers.get("ETag") ?? "";
  expect(etag).toMatch(/^"[^"]+"$/);
  expect((await ask("GET", "/api/v1/openapi.json", { key: "wrong" })).text).toBe(first.text);
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const again = await ask("GET", "/v1/openapi.json", { headers: { "If-None-Match": tag } });
    expect([again.status, again.text, again.headers.get("ETag")]).toEqual([304, "", etag]);
  }
  expect(
    (await ask("GET", "/v1/openapi.json", { headers: { "If-None-Match": '"other"' } })).status,
  ).toBe(200);
  expect((await fetch(`${second.baseUrl}/v1/openapi.json`)).headers.get("ETag")).toBe(etag);
});

test("every answer has a new Request-Id, which the client cannot choose", async ({
  system,
  newKey,
}) => {
  const { value: key } = await newKey();
  const headers = { "Request-Id": "mine" };
  const answers: Answered[] = [];
  for (const path of [
    "/v1/plans",
    "/v1/plans/none",
    "/v1/none",
    "/v1/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
  ]) {
    answers.push(
      await system.ask("GET", path, { key, headers }),
      await system.ask("GET", path, { headers }),
    );
  }
  const ids = answers.map((answer) => answer.headers.get("Request-Id"));
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test("a repeat during the first request gets Retry-After: 2, then its answer", async ({
  system,
  ask,
  own,
  newKey,
}) => {
  const { value: key } = await newKey();
  const body = { customer_code: "ACME", plan_code: "site" };
  // Until it is let go: less than a call to the ledger may take here.
  const held = { kind: "slow_before", delayMs: 18_000 };
  await system.fault({ ...held, match: "PUT /api.xro/2.0/Invoices", tenantId: own.tenantId });
  const asked = { key, idempotencyKey: "running", body };
  const first = ask("POST", "/v1/subscriptions", asked);
  const running = await until("the first request runs", async () => {
    const begun = await tables(system.pool).idempotencyKey.count({ where: { key: "running" } });
    return begun > 0 && ask("POST", "/v1/subscriptions", asked);
  });
  expect(refusalOf(running)).toEqual(refused(409, "request_in_progress"));
  expect(running.headers.get("Retry-After")).toBe("2");
  const other = await ask("POST", "/v1/subscriptions", {
    ...asked,
    body: { ...body, label: "other" },
  });
  expect(refusalOf(other).code).toBe("idempotency_conflict");
  await system.clearFaults();
  const { status, text } = await first;
  expect(status).toBe(201);
  expect((await ask("POST", "/v1/subscriptions", asked)).text).toBe(text);
});
