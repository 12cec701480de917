/** What may stand in the log. */
import { expect, test } from "vitest";
import { createLog, createLogFailure } from "../../../src/main/telemetry/log.ts";
import { createMetrics } from "../../../src/main/telemetry/metrics.ts";
import { watchPool } from "../../../src/main/telemetry/process-metrics.ts";
import { wantsTracing } from "../../../src/main/telemetry/tracing.ts";
import { createRequestObserver } from "../../../src/transport/rpc/observe.ts";

function logged(write: (log: ReturnType<typeof createLog>) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  write(createLog("api", "info", { write: (line) => lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const request = {
  protocol: null,
  requestId: "request-1",
  httpVersion: "1.1",
  method: "POST",
  path: "/v1/subscriptions",
  operation: "billing.v1.SubscriptionService/CreateSubscription",
  organisationId: "organisation-1",
  apiKeyId: "key-1",
  status: 409,
  code: "invalid_state",
  durationMs: 12.3456,
  answered: true,
};

test("secrets are hidden wherever they stand", () => {
  const err = Object.assign(new Error("refused"), { token: "hunter2" });
  const ledger = { clientSecret: "hunter2", name: "xero" };
  const [line] = logged((log) =>
    log.info({ authorization: "Bearer x", ledger, password: "hunter2", err, other: err }, "hello"),
  );
  expect(JSON.stringify(line)).not.toMatch(/hunter2|Bearer/);
  expect(line).toMatchObject({
    password: "[hidden]",
    ledger: { clientSecret: "[hidden]", name: "xero" },
    err: { message: "refused" },
  });
  expect(ledger.clientSecret, "the caller's object is as before").toBe("hunter2");
});

test("an error is logged with its cause and code, without the quoted row", () => {
  const cause = Object.assign(new Error("duplicate key"), {
    code: "23505",
    constraint: "customers_code",
    detail: "Key (email)=(a@b.c)",
  });
  const [line] = logged((log) => log.error({ err: new Error("failed", { cause }) }, "oh"));
  expect(line).toMatchObject({
    level: "error",
    part: "api",
    err: { message: "failed", cause: { code: "23505", constraint: "customers_code" } },
  });
  expect(JSON.stringify(line)).not.toContain("a@b.c");
});

test("a request refused without its database is a warning by its code, without a stack", () => {
  const lost = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), {
    code: "ECONNREFUSED",
  });
  const typed = Object.assign(new Error("Database error. Code: `57P01`."), {
    code: "P2039",
    meta: { driverAdapterError: { cause: { originalCode: "57P01" } } },
  });
  const lines = logged((log) => {
    const logFailure = createLogFailure(log);
    for (const error of [lost, typed]) logFailure(error, "request-1", "temporarily_unavailable");
    logFailure(new Error("a defect"), "request-2");
  });
  const refused = { level: "warn", msg: "refused", code: "temporarily_unavailable" };
  expect(lines).toMatchObject([
    { ...refused, requestId: "request-1", err: { code: "ECONNREFUSED" } },
    { ...refused, requestId: "request-1", err: { code: "57P01" } },
    { level: "error", msg: "failure", requestId: "request-2" },
  ]);
  expect(lines.map(({ err }) => "stack" in (err as object))).toEqual([false, false, true]);
});

test("a request is one line and one sample, with its outcome", async () => {
  const metrics = createMetrics();
  watchPool(metrics, { totalCount: 5, idleCount: 3, waitingCount: 1 });
  const lines = logged((log) => {
    const { observe } = createRequestObserver({ log, requests: metrics.requests });
    observe(request);
    observe({ ...request, code: null, status: 201, answered: false });
  });
  expect(lines).toMatchObject([
    {
      msg: "request",
      requestId: "request-1",
      organisationId: "organisation-1",
      apiKeyId: "key-1",
      outcome: "invalid_state",
      durationMs: 12.3,
      protocol: "rest",
    },
    { outcome: "client_gone" },
  ]);
  const { text } = await metrics.text();
  expect(text).toMatch(
    /billing_request_duration_seconds_count\{[^}]*outcome="invalid_state"[^}]*\} 1/,
  );
  expect(text).toContain('billing_database_connections{state="in_use"} 2');
});

test("requests without an admitted key are one line, counted by reason", async () => {
  const metrics = createMetrics();
  const unknown = { ...request, apiKeyId: null, organisationId: null, status: 401 };
  const lines = logged((log) => {
    const { observe, stop } = createRequestObserver({ log, requests: metrics.requests });
    for (let times = 0; times < 10_000; times += 1)
      observe({ ...unknown, code: "invalid_api_key" });
    observe({ ...unknown, code: "rate_limited", status: 429 });
    observe({ ...unknown, code: "temporarily_unavailable", answered: false });
    observe({ ...unknown, code: null });
    observe({ ...unknown, code: null, status: 200 });
    observe({ ...unknown, code: null, status: 200, answered: false });
    observe({ ...unknown, code: "internal_error", status: 500 });
    stop();
  });
  const counts = {
    invalid_api_key: 10_000,
    rate_limited: 1,
    temporarily_unavailable: 1,
    401: 1,
    ok: 1,
    client_gone: 1,
  };
  expect(lines).toMatchObject([
    { msg: "request", outcome: "internal_error" },
    { msg: "requests without an admitted key", counts, seconds: 10 },
  ]);
  const { text } = await metrics.text();
  expect(text).toMatch(/duration_seconds_count\{[^}]*outcome="invalid_api_key"[^}]*\} 10000/);
});

test.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }, true],
  [{ OTEL_TRACES_EXPORTER: "console" }, true],
  [{ OTEL_TRACES_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }, false],
  [{ OTEL_SDK_DISABLED: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }, false],
])("tracing starts only where the environment asks: %j", (env, wanted) => {
  expect(wantsTracing(env)).toBe(wanted);
});
