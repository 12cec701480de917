/**
 * The rules of every request, on real processes: their order, the rate over two API processes
 * together, revoked and expired keys. REQUEST-1, ACCESS-1, ACCESS-5.
 */
import { describe, expect } from "vitest";
import type { ApiProcess } from "../faults/processes.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { tables } from "../support/rows.ts";
import { type RequestOptions, type TestSystem, until } from "../support/system.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { callsTo } from "./procedures.ts";
import { requestsTest as test } from "./requests-fixture.ts";

/** What the specification allows in any 60 seconds; the system has no other setting here. */
const limit = 120;

/** Fills the window of a key except for `left` requests, all of them `ageSeconds` old. */
async function fill(
  system: TestSystem,
  keyId: string,
  left: number,
  ageSeconds = 1,
): Promise<void> {
  await system.pool.query(
    `INSERT INTO rate_windows (api_key_id, hits)
     VALUES ($1, array_fill(clock_timestamp() - make_interval(secs => $3), ARRAY[$2::int]))
     ON CONFLICT (api_key_id) DO UPDATE SET hits = excluded.hits`,
    [keyId, limit - left, ageSeconds],
  );
}

/** How many requests the window of a key counts. */
async function counted(system: TestSystem, keyId: string): Promise<number> {
  const text = "SELECT cardinality(hits) AS hits FROM rate_windows WHERE api_key_id = $1";
  const { rows } = await system.pool.query<{ hits: number }>(text, [keyId]);
  return rows[0]?.hits ?? 0;
}

const rate = ({ headers }: { readonly headers: Headers }) =>
  ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) =>
    Number(headers.get(name)),
  );

describe("the order of a request's checks", () => {
  const big = "x".repeat(1_048_577);

  test("path, key, rate, scope, Idempotency-Key, size, body, idempotency, rules", async ({
    system,
    ask,
    newKey,
  }) => {
    const unscoped = await newKey(["customers:read"]);
    const full = await newKey([]);
    await fill(system, full.id, 0);
    const { value: key } = await newKey();
    await ask("POST", "/v1/subscriptions", {
      key,
      idempotencyKey: "used",
      body: { customer_code: "ACME", plan_code: "site" },
    });
    const good = { customer_code: "ACME", plan_code: "team" };
    const steps: [string, RequestOptions, number, string][] = [
      ["/v1/subscription", { key: "wrong", body: big }, 404, "unknown_endpoint"],
      ["/v1/subscriptions", { key: "wrong", body: big }, 401, "invalid_api_key"],
      ["/v1/subscriptions", { key: full.value, body: big }, 429, "rate_limited"],
      ["/v1/subscriptions", { key: unscoped.value, body: big }, 403, "insufficient_scope"],
      ["/v1/subscriptions", { key, body: big }, 422, "idempotency_key_required"],
      ["/v1/subscriptions", { key, idempotencyKey: "a b", body: big }, 422, "invalid_parameter"],
      ["/v1/subscriptions", { key, idempotencyKey: "used", body: big }, 413, "request_too_large"],
      ["/v1/subscriptions", { key, idempotencyKey: "used", body: "{" }, 422, "invalid_parameter"],
      [
        "/v1/subscriptions",
        { key, idempotencyKey: "used", body: { ...good, units: -1 } },
        422,
        "invalid_parameter",
      ],
      [
        "/v1/subscriptions",
        { key, idempotencyKey: "used", body: { ...good, units: 0 } },
        409,
        "idempotency_conflict",
      ],
      [
        "/v1/subscriptions",
        { key, idempotencyKey: "new", body: { ...good, units: 0 } },
        422,
        "units_below_minimum",
      ],
      ["/v1/subscriptions", { key, idempotencyKey: "new", body: { ...good, units: 1 } }, 201, ""],
    ];
    for (const [path, requested, status, code] of steps) {
      const answer = await ask("POST", path, requested);
      expect([answer.status, answer.json.error?.code ?? ""]).toEqual([status, code]);
    }
  });
});

describe("the rate limit", () => {
  test("counts every request with a valid key, whatever its answer, and no other", async ({
    system,
    ask,
    newKey,
  }) => {
    const { id, value: key } = await newKey([
      "customers:read",
      "catalogue:read",
      "subscriptions:write",
    ]);
    const answers = [
      await ask("GET", "/v1/plans", { key }),
      await ask("GET", "/v1/invoices", { key }),
      await ask("GET", "/v1/plans/none", { key }),
      await ask("GET", "/v1/plans?limit=0", { key }),
      await ask("POST", "/v1/subscriptions", { key, body: {} }),
      await ask("POST", "/v1/subscriptions", {
        key,
        idempotencyKey: "x",
        body: "x".repeat(1_048_577),
      }),
      await ask("POST", "/v1/subscriptions", { key, idempotencyKey: "x", body: {} }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 404, 422, 422, 413, 422]);
    expect(answers.map((answer) => rate(answer)[1])).toEqual([119, 118, 117, 116, 115, 114, 113]);
    await ask("GET", "/v1/nothing", { key });
    await ask("POST", "/v1/usage_event", { key, body: {} });
    await ask("GET", "/v1/openapi.json", { key });
    await ask("GET", "/v1/plans", { key: `${key}x` });
    expect(await counted(system, id)).toBe(7);
  });

  test("holds over two processes, REST and gRPC: of 130 at once 120 are admitted", async ({
    system,
    second,
    newKey,
  }) => {
    const { id, value: key } = await newKey();
    const [grpc, connect] = [callsTo(system.baseUrl), callsTo(second.baseUrl)];
    const rest = async (url: string) =>
      (await fetch(`${url}/v1/plans?limit=1`, { headers: { authorization: `Bearer ${key}` } }))
        .status === 200;
    const ways = [
      () => rest(system.baseUrl),
      () => rest(second.baseUrl),
      async () => (await grpc("gRPC", "ListPlans", { limit: 1 }, { key })).code === null,
      async () => (await connect("Connect JSON", "ListPlans", { limit: 1 }, { key })).code === null,
    ];
    const admitted = await Promise.all(
      Array.from({ length: limit + 10 }, (_, index) => ways[index % 4]?.()),
    );
    expect(admitted.filter(Boolean)).toHaveLength(limit);
    expect(await counted(system, id)).toBe(limit);
  });

  test("refuses with Retry-After, uncounted, until the oldest leave the window", async ({
    system,
    ask,
    newKey,
  }) => {
    const { id, value: key } = await newKey();
    await fill(system, id, 1, 20);
    const last = await ask("GET", "/v1/plans?limit=1", { key });
    expect([last.status, ...rate(last)]).toEqual([
      200,
      limit,
      0,
      expect.toSatisfy((seconds) => seconds >= 30 && seconds <= 40),
    ]);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const over = await ask("GET", "/v1/plans?limit=1", { key });
      expect(refusalOf(over)).toEqual(refused(429, "rate_limited"));
      const [, remaining, reset] = rate(over);
      expect(remaining).toBe(0);
      expect(over.headers.get("Retry-After")).toBe(String(reset));
    }
    expect(await counted(system, id)).toBe(limit);
    await fill(system, id, 0, 59.9);
    await until(
      "the window has moved on",
      async () => (await ask("GET", "/v1/plans?limit=1", { key })).status === 200,
    );
    expect(await counted(system, id)).toBe(1);
  });

  test("of one key leaves another's alone, also of the same organisation", async ({
    system,
    ask,
    newKey,
  }) => {
    const [busy, quiet] = [await newKey(), await newKey()];
    await fill(system, busy.id, 0);
    expect((await ask("GET", "/v1/organisation", { key: busy.value })).status).toBe(429);
    expect(rate(await ask("GET", "/v1/organisation", { key: quiet.value }))[1]).toBe(limit - 1);
  });
});

describe("an API key", () => {
  const both = async (system: TestSystem, second: ApiProcess, key: string): Promise<number[]> => {
    const headers = { authorization: `Bearer ${key}` };
    const requested = [system.baseUrl, second.baseUrl].map((url) =>
      fetch(`${url}/v1/organisation`, { headers }),
    );
    return (await Promise.all(requested)).map(({ status }) => status);
  };

  test("that is revoked is refused by every process from the next request on", async ({
    system,
    second,
    newKey,
  }) => {
    const { id, value } = await newKey();
    expect(await both(system, second, value)).toEqual([200, 200]);
    await tables(system.pool).apiKey.updateMany({ where: { id }, data: { revokedAt: new Date() } });
    expect(await both(system, second, value)).toEqual([401, 401]);
  });

  test("works until it expires, and not after", async ({ system, own, second }) => {
    const key = await addApiKey(system.pool, own.organisationId, [], {
      expiresAt: new Date(Date.now() + 3_600_000),
    });
    expect(await both(system, second, key.value)).toEqual([200, 200]);
    await system.pool.query(
      "UPDATE api_keys SET expires_at = now() + interval '200 ms' WHERE id = $1",
      [key.id],
    );
    await until("the key has expired", async () =>
      (await both(system, second, key.value)).every((status) => status === 401),
    );
    const past = await addApiKey(system.pool, own.organisationId, [], {
      expiresAt: new Date(Date.now() - 1_000),
    });
    expect(await both(system, second, past.value)).toEqual([401, 401]);
  });
});
