/**
 * The client runs where there is nothing of Node: bundled for browsers, in a realm that has the
 * interfaces of the web alone, as edge runtimes do.
 */
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import type * as Client from "../../packages/client/src/index.ts";
import { newSecret, signatureHeader } from "../../src/webhooks/sign.ts";
import { noAnswer, scriptedService, success } from "./scripted-service.ts";

/** What the client may use: all of these are in browsers, and in edge runtimes. */
const web = {
  AbortController,
  AbortSignal,
  Headers,
  TextDecoder,
  TextEncoder,
  URL,
  clearTimeout,
  crypto,
  fetch,
  setTimeout,
};

let client: typeof Client;
let loaded: readonly string[] = [];
beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(import.meta.dirname, "../../packages/client/src/index.ts")],
    bundle: true,
    write: false,
    metafile: true,
    // Imports of Node's modules do not resolve.
    platform: "browser",
    format: "iife",
    globalName: "client",
  });
  loaded = Object.keys(metafile.inputs);
  const realm = createContext({ ...web });
  client = runInContext(`${outputFiles[0]?.text}\nclient;`, realm) as typeof Client;
});

test("the client loads no other package", () => {
  for (const path of loaded) expect(path).toMatch(/^packages\/client\/src\//);
});

test("a call without Node is repeated with its key, and answered", async () => {
  const { baseUrl, received } = await scriptedService(
    noAnswer,
    success({ object: "subscription", id: "s" }),
  );
  const codes: string[] = [];
  const billing = client.createBillingClient({
    baseUrl,
    apiKey: "sk",
    onRetry: ({ error }) => void codes.push(error.code),
  });
  const { id } = await billing.createSubscription({ customer_code: "ACME", plan_code: "team" });
  expect(id).toBe("s");
  expect(codes).toEqual(["connection_failed"]);
  expect(received[1]?.key).toMatch(/^[0-9a-f-]{36}$/);
});

test("a webhook without Node is verified", async () => {
  const secret = newSecret();
  const body = JSON.stringify({ id: "e", type: "invoice.paid", data: { object: { id: "i" } } });
  const header = signatureHeader([secret], body, Math.floor(Date.now() / 1000));
  const right = await client.verifyWebhook({ header, body, secret });
  expect(right.ok && right.event.type).toBe("invoice.paid");
  const wrong = await client.verifyWebhook({ header, body: `${body} `, secret });
  expect(wrong).toEqual({ ok: false, reason: "signature_wrong" });
});
