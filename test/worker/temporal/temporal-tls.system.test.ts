/**
 * Mutual TLS and API keys by settings: the client of the API, and the worker's own connection,
 * which another library makes.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { readTemporalOnly } from "../../../src/main/settings/temporal-only.ts";
import { checkTemporal, connectTemporal } from "../../../src/worker/temporal/connect.ts";
import { createSynced, subscriptionPost } from "../../faults/ledger-documents.ts";
import { allow } from "../../support/slowness.ts";
import { startSystem } from "../../support/system.ts";
import { temporalTls } from "./temporal-tls-fixture.ts";
import { startTlsProxy, type TlsProxy } from "./tls-proxy.ts";

const apiKey = "key-of-the-cloud";

let folder: string;
let proxy: TlsProxy;
let settings: NodeJS.ProcessEnv;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "billing-mtls-"));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  proxy = await startTlsProxy(inject("temporalAddress"), { apiKey, wantsCertificate: true });
  settings = {
    TEMPORAL_CONFIG_FILE: await file("profile.toml", "[profile.default]\n"),
    TEMPORAL_ADDRESS: proxy.address,
    TEMPORAL_API_KEY_FILE: await file("api-key", `${apiKey}\n`),
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: await file("ca.pem", temporalTls.authority),
    TEMPORAL_TLS_CLIENT_CERT_PATH: await file("cert.pem", temporalTls.clientCert),
    TEMPORAL_TLS_CLIENT_KEY_PATH: await file("key.pem", temporalTls.clientKey),
  };
});
afterAll(async () => {
  await proxy?.stop();
  await rm(folder, { recursive: true });
});

/** Whether Temporal answers a client with these settings. */
async function check(changes: NodeJS.ProcessEnv): Promise<void> {
  const temporal = connectTemporal(readTemporalOnly({ ...settings, ...changes }).temporal);
  try {
    await checkTemporal(temporal, allow(2_000));
  } finally {
    await temporal.connection.close();
  }
}

test("a client with certificate and key is served, also under another server name", async () => {
  await expect(check({})).resolves.toBeUndefined();
  await expect(check({ TEMPORAL_TLS_SERVER_NAME: "temporal.test" })).resolves.toBeUndefined();
});

test.each([
  ["no client certificate", { CLIENT_CERT_PATH: "", CLIENT_KEY_PATH: "" }],
  ["an unknown authority", { SERVER_CA_CERT_PATH: "" }],
  ["a name that the certificate does not have", { SERVER_NAME: "other.test" }],
])("a client with %s is not served", async (_, changes) => {
  const entries = Object.entries(changes).map(([name, value]) => [`TEMPORAL_TLS_${name}`, value]);
  await expect(check(Object.fromEntries(entries))).rejects.toThrow();
});

test("a client with another API key is refused", async () => {
  const other = { TEMPORAL_API_KEY: "another", TEMPORAL_API_KEY_FILE: "" };
  await expect(check(other)).rejects.toThrow("Request unauthorized.");
});

test("API and worker do their work over mutual TLS with an API key", async () => {
  const before = proxy.calls();
  const system = await startSystem({ env: settings });
  try {
    const organisation = await system.organisation();
    await createSynced(system, subscriptionPost(organisation, "first"));
    expect(proxy.calls() - before).toBeGreaterThan(10);
  } finally {
    await system.stop();
  }
});
