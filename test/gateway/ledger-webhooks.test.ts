/** The door for the ledger's webhooks, over real connections: what it answers by the signature, and that it needs no key. */
import { createHmac } from "node:crypto";
import { type ClientRequest, request as httpRequest } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ledgerWebhookAnswer, xeroWebhookPath } from "../../src/http/ledger-webhooks.ts";
import { ledgerWebhooks } from "../../src/ledger/index.ts";
import type { LedgerHint } from "../../src/ledger/port.ts";
import { startPort, type TestPort } from "./port-for-test.ts";

const key = "a signing key";
const event = {
  resourceId: "55d84274-a3da-4829-a7c0-0cab601b95cc",
  tenantId: "aef86862-2015-4b6b-88bc-d89032cecc50",
  eventCategory: "INVOICE",
  eventDateUtc: "2026-04-01T00:00:00.000",
};
const noted: LedgerHint[] = [];
const woken: string[] = [];

let port: TestPort;
let closed: TestPort;
beforeAll(async () => {
  const answer = ledgerWebhookAnswer({
    signatureHeader: ledgerWebhooks.xero.signatureHeader,
    read: (delivery) => ledgerWebhooks.xero.read(delivery, key),
    note: async (hints) => {
      if (hints.some(({ kind }) => kind === "contacts")) throw new Error("the database is away");
      noted.push(...hints);
      return hints.length === 0 ? [] : ["organisation"];
    },
    wake: async (organisationId) => woken.push(organisationId),
  });
  // Bodies that are held back here are not ended for being slow.
  const limits = { slowBodyAfterMs: 60_000, requestMs: 60_000 };
  port = await startPort(() => ({}), { doors: new Map([[xeroWebhookPath, answer]]), limits });
  closed = await startPort(() => ({}));
});
afterAll(() => Promise.all([port.stop({ graceMs: 100 }), closed.stop({ graceMs: 100 })]));
beforeEach(() => {
  noted.length = 0;
  woken.length = 0;
});

function deliver(events: readonly object[], { by = key, to = port, body = JSON.stringify({ events }) } = {}) {
  const signature = createHmac("sha256", by).update(body).digest("base64");
  return fetch(`${to.base}${xeroWebhookPath}`, { method: "POST", body, headers: { "x-xero-signature": signature } });
}

test("what is signed with the key is noted, its organisation woken, and answered 200 without a word", async () => {
  const answer = await deliver([event]);
  expect([answer.status, await answer.text(), answer.headers.get("set-cookie")]).toEqual([200, "", null]);
  expect(noted).toMatchObject([{ tenantId: event.tenantId, kind: "invoices", ledgerId: event.resourceId }]);
  expect(woken).toEqual(["organisation"]);
  // The ledger's question whether webhooks are meant has no events.
  expect((await deliver([])).status).toBe(200);
});

test("what is signed otherwise, or not at all, is answered 401 and noted nowhere", async () => {
  const wrong = await deliver([event], { by: "another key" });
  expect([wrong.status, await wrong.text()]).toEqual([401, ""]);
  expect((await fetch(`${port.base}${xeroWebhookPath}`, { method: "POST", body: "{}" })).status).toBe(401);
  expect((await fetch(`${port.base}${xeroWebhookPath}`, { method: "POST" })).status).toBe(401);
  expect(noted).toEqual([]);
});

test("a body over 1 MiB is not read, and what could not be noted is answered 500, so that it comes again", async () => {
  expect((await deliver([], { body: "x".repeat(1_048_577) })).status).toBe(413);
  expect((await deliver([{ ...event, eventCategory: "CONTACT" }])).status).toBe(500);
  expect(woken).toEqual([]);
});

test("strangers who keep many bodies waiting are turned away, without a word about a key, and hold up nobody for good", async () => {
  const headers = { "x-xero-signature": `${"A".repeat(43)}=`, "content-length": "10" };
  const held: { readonly sent: ClientRequest; readonly status: Promise<number | undefined> }[] = [];
  for (let count = 0; count < 32; count += 1) {
    const sent = httpRequest(`${port.base}${xeroWebhookPath}`, { method: "POST", headers });
    const status = new Promise<number | undefined>((resolve, reject) => {
      sent.once("response", (answer) => resolve(answer.resume().statusCode)).once("error", reject);
    });
    sent.write("01234");
    held.push({ sent, status });
  }
  await expect.poll(async () => (await deliver([])).status).toBe(503);
  for (const { sent } of held) sent.end("56789");
  expect(new Set(await Promise.all(held.map(({ status }) => status)))).toEqual(new Set([401]));
  expect((await deliver([])).status).toBe(200);
});

test("there is no door for other verbs, and none where it was not opened", async () => {
  expect((await fetch(`${port.base}${xeroWebhookPath}`)).status).toBe(404);
  expect((await fetch(`${port.base}${xeroWebhookPath}`, { method: "PUT", body: "{}" })).status).toBe(404);
  expect((await deliver([event], { to: closed })).status).toBe(404);
});
