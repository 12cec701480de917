/**
 * No error of the client repeats a secret that it was given: not in its message, its stack or its
 * cause.
 */
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createBillingClient } from "../../packages/client/src/index.ts";
import {
  type Answer,
  noAnswer,
  proxyError,
  refusal,
  scriptedService,
  silence,
  success,
} from "./scripted-service.ts";

const secret = "s3cr3t-Zq81";
const order = { customer_code: "ACME", plan_code: "team", units: 12 };

/** The text of what is thrown, with everything that a log could show of it. */
async function shownOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return inspect(error, { depth: null, showHidden: true });
  }
  throw new Error("nothing was thrown");
}

test.each([
  ["a line break inside", `sk_live_1\n${secret}`],
  ["a control character", `sk_live_${secret}\u0001`],
  ["a blank inside", `sk_live_1 ${secret}`],
  ["a character beyond ASCII", `sk_live_${secret}é`],
  ["a character beyond Latin", `sk_live_${secret}…`],
])("a client refuses an API key with %s, and does not repeat it", async (_, apiKey) => {
  const shown = await shownOf(() => createBillingClient({ baseUrl: "http://127.0.0.1", apiKey }));
  expect(shown).toContain("TypeError: apiKey has characters that are not allowed in a key");
  expect(shown).not.toContain(secret);
});

test.each([
  `http://user:${secret}@127.0.0.1`,
  `https://${secret}@billing.example.com/`,
  `http//user:${secret}@127.0.0.1`,
  `user:${secret}@127.0.0.1:8080`,
  `ftp://user:${secret}@127.0.0.1`,
  `http://user:${secret}@@[`,
])("a client refuses the address %s, and does not repeat its password", async (baseUrl) => {
  const shown = await shownOf(() => createBillingClient({ baseUrl, apiKey: "sk_live_1" }));
  expect(shown).toContain("TypeError: baseUrl");
  expect(shown).not.toContain(secret);
});

test("a call refuses headers that cannot be sent, and does not repeat them", async () => {
  const billing = createBillingClient({ baseUrl: "http://127.0.0.1", apiKey: "sk_live_1" });
  const wrong = [
    { idempotencyKey: `order\n${secret}` },
    { headers: { "Proxy-Authorization": `Basic ${secret}\u0000` } },
    { headers: { [`x ${secret}`]: "1" } },
  ];
  for (const options of wrong) {
    const shown = await shownOf(() => billing.createSubscription(order, options));
    expect(shown).toContain("TypeError: idempotencyKey or headers");
    expect(shown).not.toContain(secret);
  }
});

test("white space around an API key is not sent", async () => {
  const { baseUrl, received } = await scriptedService(success({ data: [], has_more: false }));
  await createBillingClient({ baseUrl, apiKey: ` sk_live_1\n` }).listPlans().page();
  expect(received[0]?.authorization).toBe("Bearer sk_live_1");
});

/** Answers as other services do, which have similar errors. */
const repeating: Answer = (response, { headers }) => {
  const error = { code: "invalid_api_key", message: `There is no key ${headers.authorization}` };
  response.writeHead(401, { "Content-Type": "application/json" }).end(JSON.stringify({ error }));
};

test.each([
  ["refused", refusal("plan_not_found", 404)],
  ["answered by a proxy", proxyError(502)],
  ["cut off", noAnswer],
  ["answered by another server that repeats it", repeating],
  ["not answered in time", silence],
])("the error of a call that was %s has no API key", async (_, answer) => {
  const { baseUrl } = await scriptedService(answer);
  const settings = { baseUrl, apiKey: `sk_live_${secret}`, retries: 0, timeoutMs: 200 };
  const shown = await shownOf(() => createBillingClient(settings).createSubscription(order));
  expect(shown).toContain("BillingError");
  expect(shown).not.toContain(secret);
});

test("the error of a call that found no server has no API key", async () => {
  const settings = { baseUrl: "http://127.0.0.1:1", apiKey: `sk_live_${secret}`, retries: 0 };
  const shown = await shownOf(() => createBillingClient(settings).listPlans().page());
  expect(shown).toContain("connection_failed");
  expect(shown).not.toContain(secret);
});
