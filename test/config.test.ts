/** The settings: defaults, and errors that name the setting and contain no secret. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../src/config.ts";

const database = { DATABASE_URL: "postgresql://user:hunter2@localhost:5432/billing" };

describe("the settings", () => {
  test("have a default for everything but the database", () => {
    expect(readConfig(database)).toMatchObject({
      api: {
        host: "127.0.0.1",
        port: 8080,
        tls: null,
        grpcReflection: true,
        rateLimitPerMinute: 120,
        shutdownMs: 20_000,
        drainMs: 0,
      },
      admin: { host: "127.0.0.1", port: 8081, temporalUiUrl: null },
      database: { url: database.DATABASE_URL, poolSize: 10 },
      taskQueue: "billing",
      worker: null,
      metrics: null,
      secretKey: null,
      secretKeysBefore: [],
      ledger: { apps: {}, webhookKeys: {}, addresses: "public" },
      webhooks: { addresses: "public" },
      logLevel: "info",
    });
  });

  test("take what is set, and an empty value as not set", () => {
    const secret = Buffer.alloc(32, 7);
    const config = readConfig({
      ...database,
      API_PORT: "0",
      API_HOST: "0.0.0.0",
      ADMIN_HOST: "10.0.0.7",
      ADMIN_PORT: "9081",
      TEMPORAL_UI_URL: "https://temporal.example.com/",
      GRPC_REFLECTION: "off",
      DATABASE_POOL_SIZE: "25",
      WORKER_PORT: "9082",
      METRICS_PORT: "9083",
      LOG_LEVEL: "",
      SECRET_KEY: secret.toString("base64"),
      SECRET_KEYS_BEFORE: [9, 8].map((byte) => Buffer.alloc(32, byte).toString("base64")).join(","),
      XERO_CLIENT_ID: "app",
      XERO_CLIENT_SECRET: "hunter2",
    });
    expect(config).toMatchObject({
      api: { host: "0.0.0.0", port: 0, grpcReflection: false },
      admin: { host: "10.0.0.7", port: 9081, temporalUiUrl: "https://temporal.example.com" },
      database: { poolSize: 25 },
      worker: { host: "127.0.0.1", port: 9082 },
      metrics: { host: "127.0.0.1", port: 9083 },
      logLevel: "info",
    });
    expect(config.secretKey).toEqual(secret);
    expect(config.secretKeysBefore).toEqual([Buffer.alloc(32, 9), Buffer.alloc(32, 8)]);
    expect(config.ledger.apps.xero).toEqual({
      clientId: "app",
      clientSecret: "hunter2",
      baseUrl: "https://api.xero.com/api.xro/2.0",
      identityUrl: "https://identity.xero.com/connect/token",
      authoriseUrl: "https://login.xero.com/identity/connect/authorize",
      connectionsUrl: "https://api.xero.com/connections",
      redirectUrl: null,
    });
  });

  test("serve the console under this machine's names, and further ones that are set", () => {
    const hosts = (env: NodeJS.ProcessEnv) => [
      ...(readConfig({ ...database, ...env }).admin.consoleHosts ?? ["none"]),
    ];
    const here = ["localhost", "127.0.0.1", "[::1]"];
    expect(hosts({})).toEqual(here);
    expect(hosts({ ADMIN_HOST: "0.0.0.0" })).toEqual(here);
    expect(
      hosts({
        ADMIN_HOST: "fd00::7",
        PUBLIC_URL: "https://Billing.example.com:8443/api",
        CONSOLE_HOSTS: "Console.example.com, 10.0.0.7",
      }),
    ).toEqual([...here, "[fd00::7]", "billing.example.com", "console.example.com", "10.0.0.7"]);
    expect(hosts({ CONSOLE: "off" })).toEqual(["none"]);
  });

  test.each([
    ["CONSOLE_HOSTS", "console.example.com:8081"],
    ["CONSOLE_HOSTS", "https://console.example.com"],
    ["CONSOLE", "yes"],
    ["DATABASE_URL", ""],
    ["DATABASE_URL", "mysql://user:hunter2@localhost/x"],
    ["DATABASE_URL", "hunter2"],
    ["API_PORT", "65536"],
    ["API_PORT", "80a"],
    ["ADMIN_PORT", "65536"],
    ["DATABASE_POOL_SIZE", "0"],
    ["RATE_LIMIT_PER_MINUTE", "-1"],
    ["DRAIN_SECONDS", "301"],
    ["GRPC_REFLECTION", "yes"],
    ["LOG_LEVEL", "loud"],
    ["SECRET_KEY", "hunter2"],
    ["SECRET_KEYS_BEFORE", `${Buffer.alloc(32).toString("base64")},hunter2`],
    ["XERO_CLIENT_SECRET", "hunter2"],
    ["XERO_URL", "ftp://x"],
    ["XERO_REDIRECT_URL", "nowhere"],
    ["SECRET_KEY", Buffer.alloc(31).toString("base64")],
    ["TLS_CERT_FILE", "/nowhere.pem"],
    ["TLS_KEY_FILE", "/nowhere.pem"],
  ])("refuse a wrong %s (%j) by its name", (name, value) => {
    const read = () => readConfig({ ...database, [name]: value });
    expect(read).toThrow(name);
    expect(read).not.toThrow("hunter2");
  });
});
