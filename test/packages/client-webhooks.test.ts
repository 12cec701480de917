/**
 * The client's verifier of webhooks on Web Crypto agrees with the service's own on Node's crypto.
 * WEBHOOK-1.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ReceivedWebhook, verifyWebhook } from "../../packages/client/src/index.ts";
import { newSecret, signatureHeader } from "../../src/webhooks/sign.ts";
import { verifyWebhook as verifyHere } from "../../src/webhooks/verify.ts";

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

const old = newSecret();
test.each([
  ["no header", { header: null }, "header_invalid"],
  ["a header without a signature", { header: `t=${now}` }, "header_invalid"],
  ["a header with two times", { header: `t=${now},${header}` }, "header_invalid"],
  ["an empty secret", { secret: "" }, "secret_invalid"],
  ["another secret", { secret: old }, "signature_wrong"],
  ["a time five minutes ago", { now: now + 300 }, "ok"],
  ["a time of more than five minutes ago", { now: now + 301 }, "too_old"],
  ["a time more than five minutes ahead", { now: now - 301 }, "too_new"],
  [
    "the second signature of a rotation",
    { header: signatureHeader([old, secret], body, now) },
    "ok",
  ],
])("%s", async (_name, given, expected) => {
  expect(await verdictOf(given)).toBe(expected);
  const here = verifyHere({ header, body, secret, now, ...given });
  expect(here.ok ? "ok" : here.reason).toBe(expected);
});

test("both verifiers have the same verdict over any header", async () => {
  const part = fc.oneof(
    fc.constantFrom(...header.split(","), "t=", "v1=", "v0=ff", `t=${now + 301}`, "v1=zz", " "),
    fc.string({ maxLength: 12 }),
  );
  const headers = fc.array(part, { maxLength: 5 }).map((parts) => parts.join(","));
  await fc.assert(
    fc.asyncProperty(headers, async (given) => {
      const here = verifyHere({ header: given, body, secret, now });
      expect(await verdictOf({ header: given })).toBe(here.ok ? "ok" : here.reason);
    }),
    { numRuns: 300 },
  );
});
