/** JSON over Connect is held to what REST is: nothing converted, ignored or guessed, and faults told by their path. decisions §1, step 6. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SubscriptionService, SubscriptionStatus } from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { generateApiKey } from "../../src/rpc/api-key.ts";
import { admitted } from "./admission-for-test.ts";
import { startServer, type TestServer } from "./connect-server-for-test.ts";

const headers = { Authorization: `Bearer ${generateApiKey(true).value}`, "Idempotency-Key": "order-1" };

let server: TestServer;
const seen: unknown[] = [];
beforeAll(async () => {
  const take = async (request: unknown) => {
    seen.push(request);
    return {};
  };
  const admission = () => admitted(["subscriptions:read", "subscriptions:write"]);
  server = await startServer({ admission, create: take, list: take });
});
afterAll(() => server.stop());
beforeEach(() => {
  seen.length = 0;
  server.records.length = 0;
});

async function post(body: string | Uint8Array<ArrayBuffer>, given: Record<string, string> = {}, method = "Create") {
  const name = method === "Create" ? "CreateSubscription" : "ListSubscriptions";
  const response = await fetch(`${server.http1Url}/billing.v1.SubscriptionService/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers, ...given },
    body,
  });
  const json = (await response.json()) as { code?: string; details?: { debug: { code: string; param?: string } }[] };
  return { status: response.status, code: json.code, detail: json.details?.[0]?.debug };
}

const rest = '"customer_code":"a","plan_code":"b"';

describe("a body is refused with the path of its fault where", () => {
  test.each<[string, string, string | undefined]>([
    ["a number is text", `{${rest},"units":"10"}`, "units"],
    ["a whole number has a fraction", `{${rest},"units":10.0}`, "units"],
    ["a whole number has an exponent", `{${rest},"units":1e1}`, "units"],
    ["null stands for a text", `{${rest},"label":null}`, "label"],
    ["null stands for a list", `{${rest},"charges":null}`, "charges"],
    ["a text is a number", `{${rest},"discount_percent":5}`, "discount_percent"],
    ["a member is given twice", `{${rest},"units":1,"units":1}`, "units"],
    ["a member is given by both of its names", `{${rest},"planCode":"b"}`, "planCode"],
    ["a member of a part is given twice", `{${rest},"charges":[{"quantity":1,"quantity":1}]}`, "charges.0.quantity"],
    ["a part has a wrong type", `{${rest},"charges":[{"chargeCode":"x"},{"quantity":"1"}]}`, "charges.1.quantity"],
    ["a part has an unknown member", `{${rest},"charges":[{"colour":"red"}]}`, "charges.0.colour"],
    ["a text has a NUL", `{${rest},"label":"\\u0000"}`, "label"],
    ["there is a byte order mark", `\ufeff{${rest}}`, undefined],
    ["more follows the object", `{${rest}}{}`, undefined],
  ])("%s", async (_, body, param) => {
    const { status, code, detail } = await post(body);
    expect([status, code, detail?.code, detail?.param]).toEqual([400, "invalid_argument", "invalid_parameter", param]);
    expect(server.records[0]?.code).toBe("invalid_parameter");
    expect([seen, server.failures]).toEqual([[], []]);
  });
});

describe("a packed body", () => {
  const packings = [
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ] as const;

  test.each(packings)("in %s is checked as it unpacks", async (name, pack) => {
    const packed = (text: string) => post(new Uint8Array(pack(text)), { "Content-Encoding": name });
    expect((await packed(`{${rest},"units":"10"}`)).detail).toMatchObject({
      code: "invalid_parameter",
      param: "units",
    });
    expect((await packed(`{${rest},"units":10}`)).status).toBe(200);
    const label = "x".repeat(1024 * 1024);
    expect((await packed(`{${rest},"label":"${label}"}`)).detail?.code).toBe("request_too_large");
  });

  test("that does not unpack, or is packed in a way unknown here, is refused", async () => {
    expect((await post(`{${rest}}`, { "Content-Encoding": "gzip" })).detail?.code).toBe("invalid_parameter");
    expect((await post(`{${rest}}`, { "Content-Encoding": "zstd" })).detail?.code).toBe("invalid_parameter");
    expect(seen).toEqual([]);
  });
});

test("a body over 1 MiB is too large, and judged after the key", async () => {
  const body = `{${rest},"label":"${"x".repeat(1024 * 1024)}"}`;
  expect((await post(body)).detail?.code).toBe("request_too_large");
  expect((await post(body, { Authorization: "" })).detail?.code).toBe("invalid_api_key");
});

describe("what protobuf's JSON mapping has is taken", () => {
  test("names in both cases", async () => {
    expect((await post('{"customerCode":"a","plan_code":"b","units":3}')).status).toBe(200);
    expect(seen).toMatchObject([{ customerCode: "a", planCode: "b", units: 3 }]);
  });

  test("enum values by name and by number, but not by REST's word", async () => {
    for (const status of ['"SUBSCRIPTION_STATUS_ACTIVE"', "2"]) {
      expect((await post(`{"status":${status}}`, {}, "List")).status).toBe(200);
    }
    const { detail } = await post('{"status":"active"}', {}, "List");
    expect([detail?.code, detail?.param]).toEqual(["invalid_parameter", "status"]);
  });

  test.each([
    undefined,
    compressionGzip,
  ])("all that the library's own client writes, packed or not", async (packing) => {
    const baseUrl = server.http1Url;
    const sendCompression = packing === undefined ? {} : { sendCompression: packing, compressMinBytes: 0 };
    const client = createClient(
      SubscriptionService,
      createConnectTransport({ baseUrl, httpVersion: "1.1", ...sendCompression }),
    );
    const charges = [{ chargeCode: "setup", quantity: 2, price: "12.50" }];
    await client.createSubscription(
      { customerCode: "a", planCode: "b", units: 3, discountPercent: "5", charges },
      { headers },
    );
    await client.listSubscriptions({ limit: 5, status: SubscriptionStatus.ACTIVE }, { headers });
    expect(seen).toMatchObject([
      { units: 3, charges },
      { limit: 5, status: SubscriptionStatus.ACTIVE },
    ]);
    const error = await client
      .createSubscription({ customerCode: "a", planCode: "b", units: -1 }, { headers })
      .then(() => null, ConnectError.from);
    expect(error?.code).toBe(Code.InvalidArgument);
  });
});
