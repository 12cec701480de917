/**
 * What goes over the wire in each protocol, beyond what its clients send: GETs, strange bodies, too
 * large ones, HTTP/2.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:http2";
import { describe, expect } from "vitest";
import { allow } from "../support/slowness.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { protocols } from "./procedures.ts";

/** A stream ends at once or never; this is far more than a busy machine needs. */
const closedWithinMs = allow(12_000);

describe("on the wire", () => {
  const path = "/billing.v1.SubscriptionService/CreateSubscription";
  const good = { customerCode: "ACME", planCode: "team", units: 1 };
  test("Connect takes a read as a GET, with the same key and the same refusals", async ({
    system,
    own,
  }) => {
    const url = `${system.baseUrl}/billing.v1.PlanService/ListPlans?encoding=json&message=`;
    const headers = { Authorization: `Bearer ${own.apiKey}` };
    const answer = await fetch(url + encodeURIComponent('{"code":"team"}'), { headers });
    expect([answer.status, answer.headers.get("RateLimit-Limit")]).toEqual([200, "100000"]);
    expect(await answer.json()).toMatchObject({ data: [{ code: "team" }] });
    expect((await fetch(`${url}%7B%7D`)).status).toBe(401);
    expect((await fetch(url + encodeURIComponent('{"limit":0}'), { headers })).status).toBe(400);
  });

  test("a message over 1 MiB is refused in every protocol; the connection stays", async ({
    call,
    own,
  }) => {
    for (const protocol of protocols) {
      const passed = {
        key: own.apiKey,
        headers: { "Idempotency-Key": `big-${protocol.replaceAll(" ", "-")}` },
      };
      const big = await call(
        protocol,
        "CreateSubscription",
        { ...good, label: "x".repeat(1_048_576) },
        passed,
      );
      expect([protocol, big.code, big.detail?.code]).toEqual([
        protocol,
        "InvalidArgument",
        "request_too_large",
      ]);
      expect((await call(protocol, "CreateSubscription", good, passed)).code).toBeNull();
    }
  });

  test.for([
    ["gRPC", path, "application/grpc+proto"],
    ["Connect", path, "application/json"],
    ["REST", "/v1/subscriptions", "application/json"],
  ] as const)("an HTTP/2 stream whose %s message was refused midway is closed", async ([
    _,
    where,
    type,
  ], { system, own }) => {
    const session = connect(system.baseUrl);
    session.on("error", () => undefined);
    const stream = session.request({
      ":method": "POST",
      ":path": where,
      "content-type": type,
      te: "trailers",
      authorization: `Bearer ${own.apiKey}`,
      "idempotency-key": "midway",
    });
    const size = 2 * 1_048_576;
    const message = Buffer.alloc(5 + size, "x");
    message.writeUInt8(0, 0);
    message.writeUInt32BE(size, 1);
    stream.on("error", () => undefined);
    stream.resume();
    stream.write(message);
    try {
      await once(stream, "close", { signal: AbortSignal.timeout(closedWithinMs) });
    } finally {
      session.destroy();
    }
  });

  test("REST is answered over HTTP/2 in cleartext as over HTTP/1.1", async ({
    system,
    ask,
    own,
  }) => {
    const session = connect(system.baseUrl);
    const ask2 = (headers: Record<string, string>, body = "") =>
      new Promise<{ status: unknown; headers: IncomingHttpHeaders; text: string }>(
        (resolve, reject) => {
          const passed = { authorization: `Bearer ${own.apiKey}`, ...headers };
          const stream = session.request(passed, { endStream: body === "" });
          let text = "";
          let head: IncomingHttpHeaders = {};
          stream.setEncoding("utf8");
          stream.on("response", (received) => {
            head = received;
          });
          stream.on("data", (chunk: string) => {
            text += chunk;
          });
          stream.on("end", () => resolve({ status: head[":status"], headers: head, text }));
          stream.on("error", reject);
          if (body !== "") stream.end(body);
        },
      );
    try {
      const list = await ask2({ ":path": "/v1/plans?limit=2" });
      const { text } = await ask("GET", "/v1/plans?limit=2", { key: own.apiKey });
      expect([list.status, list.text]).toEqual([200, text]);
      expect(list.headers["request-id"]).toMatch(/^[0-9a-f-]{36}$/);
      const body = JSON.stringify({ customer_code: "ACME", plan_code: "team", units: 0 });
      const headers = {
        ":path": "/v1/subscriptions",
        ":method": "POST",
        "content-type": "application/json",
      };
      const refusal = await ask2({ ...headers, "idempotency-key": "h2" }, body);
      expect([refusal.status, JSON.parse(refusal.text).error.code]).toEqual([
        422,
        "units_below_minimum",
      ]);
      const missing = await ask2(headers, body);
      expect([missing.status, JSON.parse(missing.text).error.code]).toEqual([
        422,
        "idempotency_key_required",
      ]);
    } finally {
      session.close();
    }
  });
});
