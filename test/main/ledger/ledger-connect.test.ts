/** Connections to ledgers: none is opened to an address that is not of the public network. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LedgerAnswer } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { createLedgerConnect } from "../../../src/main/ledger/ledger-connect.ts";
import type { AddressMode } from "../../../src/webhooks/address.ts";

/** A server of this machine that no ledger is: it counts who connects, and hangs up. */
let server: Server;
let connections = 0;
let port = 0;

beforeAll(async () => {
  server = createServer((socket) => {
    connections += 1;
    socket
      .on("error", () => undefined)
      .end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  port = (server.address() as AddressInfo).port;
});

afterAll(() => server?.close());

/** What a ledger at this origin answers; every name stands for this machine. */
async function describeAt(origin: string, mode: AddressMode): Promise<LedgerAnswer<unknown>> {
  const connect = createLedgerConnect(mode, async () => ["127.0.0.1"]);
  const address = origin.replace("PORT", String(port));
  const credentials = { tenantId: "tenant", clientId: "client", clientSecret: "secret" };
  const ledger = createXeroLedger(
    { ...credentials, baseUrl: `${address}/api.xro/2.0`, identityUrl: `${address}/connect/token` },
    { connect },
  );
  try {
    return await ledger.describe({ deadlineMs: 20_000, jobKeys: [] });
  } finally {
    await ledger.close();
  }
}

test.each([
  ["http://127.0.0.1:PORT", /must begin with https/],
  ["https://127.0.0.1:PORT", /must have port 443 or 8443/],
  ["https://127.0.0.1", /must be of the public network/],
  ["https://[::1]:8443", /must be of the public network/],
  ["https://169.254.169.254", /must be of the public network/],
  ["https://ledger.example.com:8443", /127\.0\.0\.1 of ledger\.example\.com is not public/],
])("a ledger at %s is not connected to, which certainly sent nothing", async (origin, cause) => {
  const before = connections;
  expect(await describeAt(origin, "public")).toMatchObject({
    kind: "unavailable",
    outcome: "not_sent",
    cause: expect.stringMatching(cause),
  });
  expect(connections).toBe(before);
});

test("a ledger on this machine is connected to for development", async () => {
  const before = connections;
  expect(await describeAt("http://127.0.0.1:PORT", "development")).not.toMatchObject({
    outcome: "not_sent",
  });
  expect(connections).toBeGreaterThan(before);
});

test("an address of another private network is refused in development too", async () => {
  expect(await describeAt("http://10.0.0.1", "development")).toMatchObject({ outcome: "not_sent" });
});
