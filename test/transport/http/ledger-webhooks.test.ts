/**
 * The endpoint for a ledger's webhooks, over real connections: its answers by the signature, and
 * that it needs no key.
 */
import { createHmac } from "node:crypto";
import { type ClientRequest, request as httpRequest } from "node:http";
import { BlockList } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ledgers } from "../../../src/ledger/index.ts";
import type { LedgerNotification } from "../../../src/ledger/port/ledger.ts";
import {
  type LedgerWebhookParts,
  ledgerWebhookAnswer,
  ledgerWebhookPathOf,
} from "../../../src/transport/http/ledger-webhooks.ts";
import { clientAddresses } from "../../../src/transport/http/limits/client-addresses.ts";
import { startPort, type TestPort } from "./port-fixture.ts";

const key = "a signing key";
const event = {
  resourceId: "55d84274-a3da-4829-a7c0-0cab601b95cc",
  tenantId: "aef86862-2015-4b6b-88bc-d89032cecc50",
  eventCategory: "INVOICE",
  eventDateUtc: "2026-04-01T00:00:00.000",
};
const { webhooks } = ledgers.xero;
const path = ledgerWebhookPathOf("xero");
const recorded: LedgerNotification[] = [];
const woken: string[] = [];

let port: TestPort;
/** A port that waits only shortly for a body. */
let impatient: TestPort;
let closed: TestPort;
beforeAll(async () => {
  const parts: LedgerWebhookParts = {
    ...webhooks,
    read: (delivery) => webhooks.read(delivery, key),
    record: async (notifications) => {
      if (notifications.some(({ kind }) => kind === "contacts"))
        throw new Error("the database is away");
      recorded.push(...notifications);
      return notifications.length === 0 ? [] : ["organisation"];
    },
    wake: async (organisationId) => woken.push(organisationId),
    addressOf: clientAddresses(new BlockList()),
  };
  const answer = ledgerWebhookAnswer({ ...parts, bodyMs: 600_000 });
  // Bodies that are held back here are not ended for being slow.
  const limits = { slowBodyAfterMs: 600_000, requestMs: 600_000 };
  const organisation = { id: "o", object: "organisation", name: "Northwind" };
  port = await startPort(() => ({ organisation }), {
    ledgerEndpoints: new Map([[path, answer]]),
    limits,
  });
  const hasty = ledgerWebhookAnswer({ ...parts, bodyMs: 200 });
  impatient = await startPort(() => ({}), { ledgerEndpoints: new Map([[path, hasty]]), limits });
  closed = await startPort(() => ({}));
});
afterAll(() => Promise.all([port, impatient, closed].map((each) => each.stop({ graceMs: 100 }))));
beforeEach(() => {
  recorded.length = 0;
  woken.length = 0;
});

function deliver(
  events: readonly object[],
  { by = key, to = port, body = JSON.stringify({ events }) } = {},
) {
  const signature = createHmac("sha256", by).update(body).digest("base64");
  return fetch(`${to.base}${path}`, {
    method: "POST",
    body,
    headers: { "x-xero-signature": signature },
  });
}

test("a signed delivery is recorded, wakes its organisation, and gets an empty 200", async () => {
  const answer = await deliver([event]);
  expect([answer.status, await answer.text(), answer.headers.get("set-cookie")]).toEqual([
    200,
    "",
    null,
  ]);
  expect(recorded).toMatchObject([
    { tenantId: event.tenantId, kind: "invoices", ledgerId: event.resourceId },
  ]);
  expect(woken).toEqual(["organisation"]);
  // The ledger's question whether webhooks are meant has no events.
  expect((await deliver([])).status).toBe(200);
});

test("what is signed otherwise, or not at all, is answered 401 and recorded nowhere", async () => {
  const wrong = await deliver([event], { by: "another key" });
  expect([wrong.status, await wrong.text()]).toEqual([401, ""]);
  expect((await fetch(`${port.base}${path}`, { method: "POST", body: "{}" })).status).toBe(401);
  expect((await fetch(`${port.base}${path}`, { method: "POST" })).status).toBe(401);
  expect(recorded).toEqual([]);
});

test("a body over 256 KiB is not read, and an unrecorded delivery is answered 500", async () => {
  expect((await deliver([], { body: "x".repeat(262_145) })).status).toBe(413);
  const withoutLength = hold({ "transfer-encoding": "chunked" });
  withoutLength.sent.end("x".repeat(262_145));
  expect(await withoutLength.status).toBe(413);
  const largest = JSON.stringify({ events: [event] }).padEnd(262_144);
  expect((await deliver([], { body: largest })).status).toBe(200);
  woken.length = 0;
  expect((await deliver([{ ...event, eventCategory: "CONTACT" }])).status).toBe(500);
  expect(woken).toEqual([]);
});

interface Held {
  readonly sent: ClientRequest;
  readonly status: Promise<number | undefined>;
  readonly isTaken: Promise<unknown>;
}

/** A body of which nothing comes for now; the server has taken it once it says 100 Continue. */
function hold(
  headers: Record<string, string> = { "content-length": "100" },
  from = "127.0.0.1",
  to = port,
): Held {
  const { port: number } = new URL(to.base);
  const sent = httpRequest({
    host: "127.0.0.1",
    port: number,
    path,
    method: "POST",
    localAddress: from,
    agent: false,
    headers: { "x-xero-signature": `${"A".repeat(43)}=`, expect: "100-continue", ...headers },
  });
  const isTaken = new Promise((resolve) => sent.once("continue", resolve));
  const status = new Promise<number | undefined>((resolve, reject) => {
    sent.once("response", (answer) => resolve(answer.resume().statusCode)).once("error", reject);
  });
  sent.flushHeaders();
  return { sent, status, isTaken };
}

/** How many of them were answered so far. */
async function answered(held: readonly Held[]): Promise<number> {
  const open = Symbol();
  const states = await Promise.all(
    held.map(({ status }) => Promise.race([status, Promise.resolve(open)])),
  );
  return states.filter((state) => state !== open).length;
}

test("34 endless bodies keep out no other address, and one address has eight", async () => {
  const held: Held[] = [];
  for (let count = 0; count < 34; count += 1) {
    const next = hold(undefined, "127.0.0.2");
    held.push(next);
    await next.isTaken;
    expect((await deliver([event])).status).toBe(200);
  }
  await expect.poll(() => answered(held)).toBe(34 - 8);
  const headers = { authorization: "Bearer sk_test_1" };
  expect((await fetch(`${port.base}/v1/organisation`, { headers })).status).toBe(200);
  expect(new Set(await Promise.all(held.slice(0, 34 - 8).map(({ status }) => status)))).toEqual(
    new Set([503]),
  );
  for (const { sent } of held.slice(34 - 8)) sent.end("5".repeat(100));
  expect(new Set(await Promise.all(held.slice(34 - 8).map(({ status }) => status)))).toEqual(
    new Set([401]),
  );
});

test("32 bodies are read at once, and the one that has taken the longest is evicted", async () => {
  const held: Held[] = [];
  for (let count = 0; count < 34; count += 1) {
    const next = hold(undefined, `127.0.1.${count}`);
    held.push(next);
    await next.isTaken;
    expect((await deliver([event])).status).toBe(200);
  }
  // The 34 that stay, and for each a delivery that takes its place only while it is read.
  await expect.poll(() => answered(held)).toBe(3);
  expect(await Promise.all(held.slice(0, 3).map(({ status }) => status))).toEqual([503, 503, 503]);
  const late = held.at(-1) as Held;
  late.sent.end("5".repeat(100));
  expect(await late.status).toBe(401);
  for (const { sent, status } of held) {
    status.catch(() => undefined);
    sent.destroy();
  }
});

test("a body that is not complete in time is answered 408", async () => {
  expect(await hold(undefined, undefined, impatient).status).toBe(408);
  expect((await deliver([event], { to: impatient })).status).toBe(200);
});

test("other verbs and paths without an endpoint are unknown", async () => {
  expect((await fetch(`${port.base}${path}`)).status).toBe(404);
  expect((await fetch(`${port.base}${path}`, { method: "PUT", body: "{}" })).status).toBe(404);
  expect((await deliver([event], { to: closed })).status).toBe(404);
});
