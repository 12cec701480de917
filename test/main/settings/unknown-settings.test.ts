/** A set name that begins like ours and that nothing reads is found, with the nearest name. */
import { expect, test } from "vitest";
import { ledgers } from "../../../src/ledger/index.ts";
import { unknownSettings } from "../../../src/main/settings/unknown-settings.ts";
import { configurationPage } from "../../../tools/configuration-page.ts";

const textsOf = (env: NodeJS.ProcessEnv) => unknownSettings(env, ledgers);

test.each([
  ["DATABASE_POOLSIZE", "DATABASE_POOL_SIZE"],
  ["WEBHOOK_ADRESSES", "WEBHOOK_ADDRESSES"],
  ["TEMPORAL_APIKEY", "TEMPORAL_API_KEY"],
  ["XERO_CLIENT_SECRT", "XERO_CLIENT_SECRET"],
  ["SECRET_KEY_FLIE", "SECRET_KEY_FILE"],
  ["TRUSTED_PROXY", "TRUSTED_PROXIES"],
])("%s is unknown, and %s is meant", (name, meant) => {
  expect(textsOf({ [name]: "1" })).toEqual([
    `${name} is no setting of this service and has no effect. Is ${meant} meant?`,
  ]);
});

test("a name that is near to none is unknown without advice", () => {
  expect(textsOf({ BILLING_Q: "1" })).toEqual([
    "BILLING_Q is no setting of this service and has no effect.",
  ]);
});

test("no setting of the documentation is unknown", () => {
  const names = [...configurationPage().matchAll(/`([A-Z][A-Z_]+[A-Z])`/g)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(50);
  expect(textsOf(Object.fromEntries(names.map((name) => [name, "1"])))).toEqual([]);
});

test("settings of other programs and of Kubernetes, headers and empty ones are not unknown", () => {
  const env = {
    API_SERVICE_HOST: "10.0.0.1",
    API_SERVICE_PORT_HTTP: "80",
    API_PORT_80_TCP_ADDR: "10.0.0.1",
    TEMPORAL_GRPC_META_ROUTE: "a",
    GRPC_TRACE: "all",
    POSTGRES_PASSWORD: "hunter2",
    API_HOSTT: "",
    PATH: "/bin",
  };
  expect(textsOf(env)).toEqual([]);
});

test("the value of an unknown setting is not shown", () => {
  expect(textsOf({ SECRET_KEYS: "hunter2" }).join()).not.toContain("hunter2");
});
