/** REST and Connect share one gate: both validate the head of a request alike (REQUEST-1). */
import { connect as connectHttp2 } from "node:http2";
import { describe, expect } from "vitest";
import { perFile, started } from "../../support/file-fixture.ts";
import {
  key,
  sendBytes,
  startTransports,
  type TestTransports,
  transportsTest,
} from "./transports-fixture.ts";

const organisation = { id: "o", object: "organisation", name: "Northwind" };

/** Lets this client send what no client should. */
const withRepeats: object = { strictSingleValueFields: false };

const test = transportsTest.extend(
  "transports",
  perFile,
  started(
    () => startTransports(() => ({ organisation })),
    (transports) => transports.stop({ graceMs: 1_000 }),
  ),
);

test.beforeEach(({ transports }) => {
  transports.lines.length = 0;
  transports.requests.length = 0;
});

const rest = "POST /v1/subscriptions";
const connect = "POST /billing.v1.SubscriptionService/CreateSubscription";

describe.each([rest, connect])("%s", (line) => {
  const ask = (transports: TestTransports, headers: readonly string[]) =>
    sendBytes(
      transports.port,
      [
        `${line} HTTP/1.1`,
        "Host: x",
        "Connection: close",
        "Content-Type: application/json",
        "Content-Length: 2",
      ]
        .concat(headers, "", "{}")
        .join("\r\n"),
    );
  const authorization = `Authorization: Bearer ${key}`;

  test("refuses a repeated Authorization, also where the first one is a good key", async ({
    transports,
  }) => {
    expect(
      await ask(transports, [authorization, "authorization: Bearer other", "Idempotency-Key: a"]),
    ).toMatch(/invalid_api_key/);
    expect(await ask(transports, [authorization, "AUTHORIZATION: ", "Idempotency-Key: a"])).toMatch(
      /invalid_api_key/,
    );
  });

  test("refuses a repeated Idempotency-Key, also where both are the same", async ({
    transports,
  }) => {
    const answer = await ask(transports, [
      authorization,
      "Idempotency-Key: a",
      "idempotency-key: a",
    ]);
    expect(answer).toMatch(/"invalid_parameter".*"Idempotency-Key"/);
    expect(
      await ask(transports, [authorization, "Idempotency-Key: a", "idempotency-key:"]),
    ).toMatch(/"invalid_parameter"/);
  });

  test("takes each sent once", async ({ transports }) => {
    expect(await ask(transports, [authorization, "Idempotency-Key: a"])).toMatch(/customer_code/);
  });
});

test.for([
  "/v1/subscriptions",
  "/billing.v1.SubscriptionService/CreateSubscription",
])("over HTTP/2 %s refuses repeats as well", async (path, { transports }) => {
  const session = connectHttp2(transports.base, withRepeats);
  const ask = async (repeated: readonly string[]) => {
    const pairs = [
      ":method",
      "POST",
      ":path",
      path,
      "content-type",
      "application/json",
      ...repeated,
    ];
    const stream = session.request(pairs);
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    stream.end("{}");
    await new Promise((resolve, reject) => stream.once("end", resolve).once("error", reject));
    return text;
  };
  try {
    const authorization = ["authorization", `Bearer ${key}`];
    expect(await ask([...authorization, ...authorization, "idempotency-key", "a"])).toMatch(
      /invalid_api_key/,
    );
    const idempotency = ["idempotency-key", "a"];
    expect(await ask([...authorization, ...idempotency, ...idempotency])).toMatch(
      /"Idempotency-Key"/,
    );
  } finally {
    session.close();
  }
});

describe("a request target in absolute form (RFC 9112, 3.2.2)", () => {
  const ask = (transports: TestTransports, method: string, target: string) =>
    sendBytes(
      transports.port,
      [
        `${method} ${target} HTTP/1.1`,
        "Host: x",
        "Connection: close",
        `Authorization: Bearer ${key}`,
      ]
        .concat(
          method === "POST"
            ? ["Content-Type: application/json", "Content-Length: 2", "", "{}"]
            : ["", ""],
        )
        .join("\r\n"),
    );

  test.for([
    ["GET", "http://billing.example/v1/organisation"],
    ["GET", "HTTPS://billing.example:8443/api/v1/organisation?"],
    ["POST", "http://127.0.0.1/billing.v1.OrganisationService/GetOrganisation"],
    ["GET", "http://billing.example/healthz"],
  ] as const)("is answered as its path is: %s %s", async ([method, target], { transports }) => {
    expect(await ask(transports, method, target)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.for([
    "http://billing.example",
    "http:///v1/organisation",
    "ftp://billing.example/v1/organisation",
    "*",
  ])("with no path of ours is an unknown endpoint: %s", async (target, { transports }) => {
    expect(await ask(transports, "GET", target)).toMatch(/^HTTP\/1\.1 404 .*unknown_endpoint/s);
  });

  test("is logged by its path", async ({ transports }) => {
    await ask(transports, "GET", "http://billing.example/v1/organisation?x=secret");
    await expect.poll(() => transports.lines).toMatchObject([{ path: "/v1/organisation" }]);
  });
});
