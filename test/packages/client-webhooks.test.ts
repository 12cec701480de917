/** A receiver has the event of a webhook, in every form of its bytes. WEBHOOK-1. */
import { expect, test } from "vitest";
import { type ReceivedWebhook, verifyWebhook } from "../../packages/client/src/index.ts";
import { newSecret, signatureHeader } from "../../src/webhooks/sign.ts";

const secret = newSecret();
const now = 1_767_225_600;
const event = {
  id: "01a20019-0a8b-7405-8b3a-c44e7fad0efa",
  object: "event",
  type: "subscription.updated",
  api_version: "1.0.0",
  created: "2026-03-01T12:00:00.000Z",
  livemode: true,
  sequence: 2,
  data: {
    object: { id: "s", units: 12, label: "Žluťoučký 🐎" },
    previous_attributes: { units: 10 },
  },
};
const body = JSON.stringify(event);
const header = signatureHeader([secret], body, now);

const verdictOf = async (given: Partial<ReceivedWebhook>) => {
  const verdict = await verifyWebhook({ header, body, secret, now, ...given });
  return verdict.ok ? "ok" : verdict.reason;
};

test("a signed body is an event, member by member as it was sent", async () => {
  expect(await verifyWebhook({ header, body, secret, now })).toEqual({ ok: true, event });
});

test("a body counts by its bytes, in every form that runtimes give", async () => {
  const bytes = new TextEncoder().encode(body);
  // A view of a larger buffer, as Node's pool gives them.
  const pooled = new Uint8Array(bytes.length + 8);
  pooled.set(bytes, 4);
  const view = pooled.subarray(4, 4 + bytes.length);
  for (const form of [body, bytes, Buffer.from(body), bytes.buffer, view])
    expect(await verdictOf({ body: form })).toBe("ok");
  expect(await verdictOf({ body: `${body} ` })).toBe("signature_wrong");
});
