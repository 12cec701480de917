/** The settings of Temporal, and faults that the library would accept in silence. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readTemporalOnly } from "../../../src/main/settings/temporal-settings.ts";
import { certificate } from "../../transport/http/tls-fixture.ts";

let folder: string;
let noProfile: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "billing-temporal-"));
  noProfile = await file("none.toml", "[profile.default]\n");
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const read = (env: NodeJS.ProcessEnv) =>
  readTemporalOnly({ TEMPORAL_CONFIG_FILE: noProfile, ...env });

test("without settings they are those of a server on this machine", () => {
  const { temporal, taskQueue } = read({ TEMPORAL_ADDRESS: "" });
  expect(temporal).toMatchObject({
    namespace: "default",
    payloadKey: null,
    payloadKeysBefore: [],
    deployment: null,
  });
  expect(temporal.connectionOptions.address).toBeUndefined();
  expect(temporal.connectionOptions.tls).toBeUndefined();
  expect(taskQueue).toBe("billing");
});

test("an API key switches TLS on, and may come from a file", async () => {
  const { connectionOptions, namespace } = read({
    TEMPORAL_ADDRESS: "example.tmprl.cloud:7233",
    TEMPORAL_NAMESPACE: "example",
    TEMPORAL_API_KEY_FILE: await file("api-key", "hunter2\n"),
  }).temporal;
  expect(namespace).toBe("example");
  expect(connectionOptions).toMatchObject({
    address: "example.tmprl.cloud:7233",
    apiKey: "hunter2",
    tls: true,
  });
});

test("mutual TLS is read from files and from texts", async () => {
  const [cert, key] = [
    await file("cert.pem", certificate.cert),
    await file("key.pem", certificate.key),
  ];
  const wanted = { crt: Buffer.from(certificate.cert), key: Buffer.from(certificate.key) };
  const tlsOf = (env: NodeJS.ProcessEnv) => {
    const { tls } = read(env).temporal.connectionOptions;
    if (typeof tls !== "object" || tls === null) throw new Error("TLS is off");
    const { crt, key: ownKey } = tls.clientCertPair ?? { crt: [], key: [] };
    const ca = Buffer.from(tls.serverRootCACertificate ?? []).toString();
    return { pair: { crt: Buffer.from(crt), key: Buffer.from(ownKey) }, ca, tls };
  };
  const files = tlsOf({
    TEMPORAL_TLS_CLIENT_CERT_PATH: cert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: key,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: cert,
    TEMPORAL_TLS_SERVER_NAME: "localhost",
  });
  expect(files.pair).toEqual(wanted);
  expect(files.ca).toBe(certificate.cert);
  expect(files.tls.serverNameOverride).toBe("localhost");
  const texts = tlsOf({
    TEMPORAL_TLS_CLIENT_CERT_DATA: certificate.cert,
    TEMPORAL_TLS_CLIENT_KEY_DATA: certificate.key,
  });
  expect(texts.pair).toEqual(wanted);
});

describe("a fault names its setting and shows no key", () => {
  test("of half a client certificate, which the library would leave out", async () => {
    const cert = await file("half.pem", certificate.cert);
    expect(() => read({ TEMPORAL_TLS_CLIENT_CERT_PATH: cert })).toThrow(
      "TEMPORAL_TLS_CLIENT_CERT_PATH is set without TEMPORAL_TLS_CLIENT_KEY_PATH.",
    );
    expect(() => read({ TEMPORAL_TLS_CLIENT_KEY_DATA: certificate.key })).toThrow(
      "TEMPORAL_TLS_CLIENT_KEY_DATA is set without TEMPORAL_TLS_CLIENT_CERT_PATH.",
    );
  });

  test("of a word for TEMPORAL_TLS that the library takes for false", () => {
    expect(() => read({ TEMPORAL_TLS: "yes" })).toThrow(
      "TEMPORAL_TLS=yes must be one of true, false, 1, 0.",
    );
    expect(read({ TEMPORAL_TLS: "1" }).temporal.connectionOptions.tls).toBeTruthy();
  });

  test("of all wrong PEM files and keys at once", async () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const env = {
      TEMPORAL_TLS_CLIENT_CERT_PATH: await file("a.pem", certificate.cert),
      TEMPORAL_TLS_CLIENT_KEY_PATH: await file(
        "b.pem",
        other.export({ type: "pkcs8", format: "pem" }).toString(),
      ),
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, "nothing.pem"),
      TEMPORAL_PAYLOAD_KEY: "hunter2",
      TEMPORAL_API_KEY: "hunter2 hunter2",
    };
    expect(() => read(env)).toThrow(
      new Error(
        [
          `TEMPORAL_TLS_SERVER_CA_CERT_PATH=${join(folder, "nothing.pem")} cannot be read.`,
          `TEMPORAL_TLS_CLIENT_KEY_PATH=${join(folder, "b.pem")} is not the key of the first ` +
            `certificate in TEMPORAL_TLS_CLIENT_CERT_PATH=${join(folder, "a.pem")}.`,
          "TEMPORAL_API_KEY has characters that no key has.",
          "TEMPORAL_PAYLOAD_KEY must be 32 random bytes in base64 (openssl rand -base64 32).",
        ].join("\n"),
      ),
    );
    const garbled = { ...env, TEMPORAL_TLS_CLIENT_CERT_PATH: await file("c.pem", "hunter2") };
    expect(() => read(garbled)).toThrow(
      `TEMPORAL_TLS_CLIENT_CERT_PATH=${join(folder, "c.pem")} is no certificate in PEM.`,
    );
    expect(() => read(garbled)).not.toThrow("hunter2\n");
  });

  test("of an authority that is no certificate", async () => {
    const path = await file("ca.pem", certificate.key);
    expect(() => read({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: path })).toThrow(
      `TEMPORAL_TLS_SERVER_CA_CERT_PATH=${path} is no certificate in PEM.`,
    );
  });

  test("of a deployment name that the server refuses", () => {
    expect(() => read({ TEMPORAL_DEPLOYMENT_NAME: "billing.eu" })).toThrow(
      "TEMPORAL_DEPLOYMENT_NAME=billing.eu must have no dot and no colon.",
    );
  });

  test("of a profile that is missing or cannot be read", async () => {
    const path = await file("profile.toml", "[profile.default]\naddress = 1 2\n");
    expect(() => read({ TEMPORAL_CONFIG_FILE: path })).toThrow(
      `The TEMPORAL_ settings (TEMPORAL_CONFIG_FILE=${path}) cannot be read: `,
    );
    const open = await file("open.toml", '[profile.default]\napi_key = "hunter2\n');
    expect(() => read({ TEMPORAL_CONFIG_FILE: open })).toThrow("Invalid TOML document");
    expect(() => read({ TEMPORAL_CONFIG_FILE: open })).not.toThrow("hunter2");
    const missing = join(folder, "missing.toml");
    expect(() => read({ TEMPORAL_CONFIG_FILE: missing })).toThrow(
      `TEMPORAL_CONFIG_FILE=${missing} cannot be read.`,
    );
    expect(() => read({ TEMPORAL_PROFILE: "cloud" })).toThrow("Profile 'cloud' not found");
  });

  test("of a profile's certificate that is none", async () => {
    const path = await file(
      "tls.toml",
      '[profile.default.tls]\nclient_cert_data = "a"\nclient_key_data = "b"\n',
    );
    expect(() => read({ TEMPORAL_CONFIG_FILE: path })).toThrow(
      "client_cert of the Temporal profile is no certificate in PEM.",
    );
  });
});

test("payload keys and the version of workers are off until they are set", () => {
  const key = Buffer.alloc(32, 7);
  const { temporal } = read({
    TEMPORAL_PAYLOAD_KEY: key.toString("base64"),
    TEMPORAL_PAYLOAD_KEYS_BEFORE: Buffer.alloc(32, 8).toString("base64"),
    TEMPORAL_WORKER_BUILD_ID: "1.4.0",
  });
  expect(temporal.payloadKey).toEqual(key);
  expect(temporal.payloadKeysBefore).toEqual([Buffer.alloc(32, 8)]);
  expect(temporal.deployment).toEqual({ name: "billing", buildId: "1.4.0" });
});
