/**
 * JSON over Connect, gRPC and gRPC-Web is held to what REST is: nothing converted, ignored or
 * guessed, and faults reported by their path (REQUEST-7, REQUEST-13).
 */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { encodeEnvelope, transformSplitEnvelope } from "@connectrpc/connect/protocol";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ErrorDetailSchema } from "../../../../src/gen/proto/billing/v1/common_pb.ts";
import {
  SubscriptionService,
  SubscriptionStatus,
} from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { generateApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";
import { admitted } from "../gate/admission-fixture.ts";
import { startServer, type TestServer } from "./connect-server-fixture.ts";

const headers = {
  Authorization: `Bearer ${generateApiKey(true).value}`,
  "Idempotency-Key": "order-1",
};

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

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  given: Record<string, string> = {},
  method = "Create",
) {
  const name = method === "Create" ? "CreateSubscription" : "ListSubscriptions";
  const response = await fetch(`${server.http1Url}/billing.v1.SubscriptionService/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers, ...given },
    body,
  });
  const json = (await response.json()) as {
    code?: string;
    details?: { debug: { code: string; param?: string } }[];
  };
  return { status: response.status, code: json.code, detail: json.details?.[0]?.debug };
}

const rest = '"customer_code":"a","plan_code":"b"';

const faults: [string, string, string | undefined][] = [
  ["a number is text", `{${rest},"units":"10"}`, "units"],
  ["a whole number has a fraction", `{${rest},"units":10.0}`, "units"],
  ["a whole number has an exponent", `{${rest},"units":1e1}`, "units"],
  ["null stands for a text", `{${rest},"label":null}`, "label"],
  ["null stands for a list", `{${rest},"charges":null}`, "charges"],
  ["a text is a number", `{${rest},"discount_percent":5}`, "discount_percent"],
  ["a member is given twice", `{${rest},"units":1,"units":1}`, "units"],
  ["a member is given by both of its names", `{${rest},"planCode":"b"}`, "planCode"],
  [
    "a member of a part is given twice",
    `{${rest},"charges":[{"quantity":1,"quantity":1}]}`,
    "charges.0.quantity",
  ],
  [
    "a part has a wrong type",
    `{${rest},"charges":[{"chargeCode":"x"},{"quantity":"1"}]}`,
    "charges.1.quantity",
  ],
  ["a part has an unknown member", `{${rest},"charges":[{"colour":"red"}]}`, "charges.0.colour"],
  ["a text has a NUL", `{${rest},"label":"\\u0000"}`, "label"],
  ["there is a byte order mark", `\ufeff{${rest}}`, undefined],
  ["more follows the object", `{${rest}}{}`, undefined],
];

describe("a body is refused with the path of its fault where", () => {
  test.each(faults)("%s", async (_, body, param) => {
    const { status, code, detail } = await post(body);
    expect([status, code, detail?.code, detail?.param]).toEqual([
      400,
      "invalid_argument",
      "invalid_parameter",
      param,
    ]);
    expect(server.records[0]?.code).toBe("invalid_parameter");
    expect([seen, server.failures]).toEqual([[], []]);
  });
});

type Call = (body: Uint8Array, given?: Record<string, string>) => Promise<ConnectError | undefined>;

/** A call by gRPC with these bytes as its body: the error in the trailers. */
const byGrpc: Call = async (body, given = {}) => {
  const session = connectHttp2(server.http2Url);
  const stream = session.request({
    ":method": "POST",
    ":path": "/billing.v1.SubscriptionService/CreateSubscription",
    "content-type": "application/grpc+json",
    te: "trailers",
    ...headers,
    ...given,
  });
  const trailers = new Headers();
  const note = (fields: Record<string, unknown>) => {
    for (const [name, value] of Object.entries(fields))
      if (!name.startsWith(":")) trailers.set(name, String(value));
  };
  stream.on("response", note).on("trailers", note).resume();
  stream.end(body);
  await new Promise((resolve) => stream.once("close", resolve));
  session.close();
  expect(trailers.has("grpc-status")).toBe(true);
  return findTrailerError(trailers);
};

/** The same by gRPC-Web, which has the trailers in the last frame of its answer. */
const byGrpcWeb: Call = async (body, given = {}) => {
  const response = await fetch(
    `${server.http1Url}/billing.v1.SubscriptionService/CreateSubscription`,
    {
      method: "POST",
      headers: { "Content-Type": "application/grpc-web+json; charset=utf-8", ...headers, ...given },
      body: new Uint8Array(body),
    },
  );
  assert(response.body !== null);
  for await (const { flags, data } of transformSplitEnvelope(1_000_000)(response.body)) {
    if ((flags & trailerFlag) !== 0) return findTrailerError(trailerParse(data));
  }
  throw new Error("the answer has no trailers");
};

const message = (text: string, flags = 0) => encodeEnvelope(flags, new TextEncoder().encode(text));

function detailOf(error: ConnectError | undefined) {
  const { code, param } = error?.findDetails(ErrorDetailSchema)[0] ?? {};
  return [error?.code, code, param];
}

describe.each([
  ["gRPC", byGrpc],
  ["gRPC-Web", byGrpcWeb],
])("a message of %s is refused as a body of Connect is where", (_, call) => {
  test.each(faults)("%s", async (_name, text, param) => {
    expect(detailOf(await call(message(text)))).toEqual([
      Code.InvalidArgument,
      "invalid_parameter",
      param,
    ]);
    expect(server.records[0]?.code).toBe("invalid_parameter");
    expect([seen, server.failures]).toEqual([[], []]);
  });

  test("it is packed, or is the second of two", async () => {
    const packed = encodeEnvelope(1, gzipSync(`{${rest},"units":"10"}`));
    expect(detailOf(await call(packed, { "grpc-encoding": "gzip" }))[2]).toBe("units");
    const second = Buffer.concat([message(`{${rest}}`), message(`{${rest},"units":"10"}`)]);
    expect((await call(second))?.code).toBe(Code.InvalidArgument);
    expect(seen).toEqual([]);
    expect(
      await call(encodeEnvelope(1, gzipSync(`{${rest},"units":10}`)), { "grpc-encoding": "gzip" }),
    ).toBeUndefined();
    expect(seen).toMatchObject([{ units: 10 }]);
  });

  test("its frame is wrong: packed in no way that was named, cut short, or too large", async () => {
    const packed = encodeEnvelope(1, gzipSync(`{${rest}}`));
    for (const body of [packed, message(`{${rest}}`).subarray(0, 20)]) {
      expect(detailOf(await call(body)).slice(1)).toEqual(["invalid_parameter", undefined]);
    }
    const large = message(`{${rest},"label":"${"x".repeat(1024 * 1024)}"}`);
    expect(detailOf(await call(large))[1]).toBe("request_too_large");
    expect(seen).toEqual([]);
  });

  test("a key is wrong first", async () => {
    const error = await call(message(`{${rest},"units":"10"}`), { Authorization: "Bearer none" });
    expect(detailOf(error)[1]).toBe("invalid_api_key");
  });
});

describe("the message of Connect's GET", () => {
  const ask = async (query: Record<string, string>, method = "ListSubscriptions") => {
    const params = new URLSearchParams({ connect: "v1", encoding: "json", ...query });
    const url = `${server.http1Url}/billing.v1.SubscriptionService/${method}?${params}`;
    const response = await fetch(url, { headers });
    const json = (await response.json()) as {
      details?: { debug: { code: string; param?: string } }[];
    };
    return [response.status, json.details?.[0]?.debug.code, json.details?.[0]?.debug.param];
  };

  test.each([
    ["a number that is text", '{"limit":"5"}', "limit"],
    ["a whole number with a fraction", '{"limit":5.0}', "limit"],
    ["null", '{"customer":null}', "customer"],
    ["an unknown member", '{"colour":"red"}', "colour"],
  ])("is refused with %s, as it is or in base64, packed or not", async (_, text, param) => {
    const base64 = Buffer.from(text).toString("base64url");
    const packed = gzipSync(text).toString("base64url");
    for (const query of [
      {},
      { message: base64, base64: "1" },
      { message: packed, base64: "1", compression: "gzip" },
    ]) {
      expect(await ask({ message: text, ...query })).toEqual([400, "invalid_parameter", param]);
    }
    expect(seen).toEqual([]);
  });

  test("is taken where it is right, and never for a method that writes", async () => {
    const packed = gzipSync('{"limit":5}').toString("base64url");
    expect((await ask({ message: '{"limit":5}' }))[0]).toBe(200);
    expect((await ask({ message: packed, base64: "1", compression: "gzip" }))[0]).toBe(200);
    expect(seen).toMatchObject([{ limit: 5 }, { limit: 5 }]);
    expect(await ask({ message: `{${rest}}` }, "CreateSubscription")).toEqual([
      404,
      "unknown_endpoint",
      undefined,
    ]);
    expect(await ask({ message: "%", base64: "1" })).toEqual([400, "invalid_parameter", undefined]);
    for (const compression of ["zstd", "", "a\nb"]) {
      const refused = await ask({ message: packed, base64: "1", compression });
      expect(refused).toEqual([400, "invalid_parameter", undefined]);
    }
    expect(seen).toHaveLength(2);
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
    expect((await post(`{${rest}}`, { "Content-Encoding": "gzip" })).detail?.code).toBe(
      "invalid_parameter",
    );
    expect((await post(`{${rest}}`, { "Content-Encoding": "zstd" })).detail?.code).toBe(
      "invalid_parameter",
    );
    expect(seen).toEqual([]);
  });
});

test("a body over 1 MiB is too large, and checked after the key", async () => {
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
    const sendCompression =
      packing === undefined ? {} : { sendCompression: packing, compressMinBytes: 0 };
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
    for (const transport of [
      createGrpcTransport({ baseUrl: server.http2Url, useBinaryFormat: false, ...sendCompression }),
      createGrpcWebTransport({
        baseUrl,
        httpVersion: "1.1",
        useBinaryFormat: false,
        ...sendCompression,
      }),
      createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true, ...sendCompression }),
    ]) {
      const other = createClient(SubscriptionService, transport);
      seen.length = 0;
      await other.listSubscriptions({ limit: 5, status: SubscriptionStatus.ACTIVE }, { headers });
      await other.createSubscription(
        { customerCode: "a", planCode: "b", units: 3, charges },
        { headers },
      );
      expect(seen).toMatchObject([
        { limit: 5, status: SubscriptionStatus.ACTIVE },
        { units: 3, charges },
      ]);
    }
    const error = await client
      .createSubscription({ customerCode: "a", planCode: "b", units: -1 }, { headers })
      .then(() => null, ConnectError.from);
    expect(error?.code).toBe(Code.InvalidArgument);
  });
});
