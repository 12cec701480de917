/**
 * Mutual TLS and API keys by settings: the client of API and worker, and the worker's own
 * connection, which another library makes. One server is for all tests. Only one test starts a
 * process, because that takes most of the time.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { readTemporalOnly } from "../../../src/main/settings/temporal-settings.ts";
import { checkTemporal, connectTemporal } from "../../../src/worker/temporal/connect.ts";
import { billingScheduleId } from "../../../workflows/contract.ts";
import { allow } from "../../support/slowness.ts";
import { startSystem, until } from "../../support/system.ts";
import { quietRuntime } from "../../support/temporal-runtime.ts";
import { temporalTls } from "./temporal-tls-fixture.ts";
import { startTlsProxy, type TlsProxy } from "./tls-proxy.ts";

const apiKey = "key-of-the-cloud";

let folder: string;
let proxy: TlsProxy;
let settings: NodeJS.ProcessEnv;
beforeAll(async () => {
  quietRuntime();
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

/** Connects as a worker does, by the other library. */
async function connectNative(changes: NodeJS.ProcessEnv): Promise<void> {
  const { connectionOptions } = readTemporalOnly({ ...settings, ...changes }).temporal;
  await (await NativeConnection.connect(connectionOptions)).close();
}

/** Whether Temporal answers a client with these settings. */
async function check(changes: NodeJS.ProcessEnv): Promise<void> {
  const temporal = connectTemporal(readTemporalOnly({ ...settings, ...changes }).temporal);
  try {
    await checkTemporal(temporal, allow(2_000));
  } finally {
    await temporal.close();
  }
}

test("client and worker with certificate and key are served, under both names", async () => {
  for (const changes of [{}, { TEMPORAL_TLS_SERVER_NAME: "temporal.test" }]) {
    await expect(check(changes)).resolves.toBeUndefined();
    await expect(connectNative(changes)).resolves.toBeUndefined();
  }
});

test.each([
  ["no client certificate", { TLS_CLIENT_CERT_PATH: "", TLS_CLIENT_KEY_PATH: "" }],
  ["an unknown authority", { TLS_SERVER_CA_CERT_PATH: "" }],
  ["a name that the certificate does not have", { TLS_SERVER_NAME: "other.test" }],
  ["another API key", { API_KEY: "another", API_KEY_FILE: "" }],
])("a client and a worker with %s are not served", async (_, changes) => {
  const entries = Object.entries(changes).map(([name, value]) => [`TEMPORAL_${name}`, value]);
  const wrong: NodeJS.ProcessEnv = Object.fromEntries(entries);
  await expect(check(wrong)).rejects.toThrow();
  await expect(connectNative(wrong)).rejects.toThrow();
});

test("a worker process does its work over mutual TLS with an API key", async () => {
  const before = proxy.calls();
  const system = await startSystem({ without: ["api"], env: settings, areSeparate: true });
  // The test itself takes no part in the calls that are counted.
  const { address, namespace } = system.temporal;
  const connection = await Connection.connect({ address });
  try {
    const { schedule, workflow } = new Client({ connection, namespace });
    const handle = schedule.getHandle(billingScheduleId);
    await handle.trigger();
    const [action] = await until("a run has begun", async () => {
      const { recentActions } = (await handle.describe()).info;
      return recentActions.length > 0 && recentActions;
    });
    await workflow.getHandle(action?.action.workflow.workflowId ?? "").result();
    await until("its calls took this way", async () => proxy.calls() - before > 10);
  } finally {
    await connection.close();
    await system.stop();
  }
});
