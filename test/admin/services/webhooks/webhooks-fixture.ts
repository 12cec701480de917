/** A system without a worker, so that nothing is delivered, for tests of WebhookService. */
import { randomBytes } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { expect, test } from "vitest";
import { createEncryption } from "../../../../src/store/database/encryption.ts";
import { deliveriesWorkflowId } from "../../../../workflows/contract.ts";
import { perFile, started } from "../../../support/file-fixture.ts";
import { startSystem } from "../../../support/system.ts";
import { until } from "../../../support/until.ts";
import { openSecrets } from "../../../support/webhook-builder.ts";
import { askWith } from "../request.ts";

/** The address of the endpoints. */
export const url = "https://hooks.example.com/billing";

/** A day in milliseconds. */
export const day = 24 * 60 * 60 * 1000;

/** A method of WebhookService. */
export const call = (method: string) => `WebhookService/${method}`;

/** The system, an owner's calls, and two organisations. */
export type WebhooksFixture = Awaited<ReturnType<typeof startWebhooks>>;

/** Starts a system for the tests of one file. */
export async function startWebhooks() {
  const key = randomBytes(32);
  const env = { SECRET_KEY: key.toString("base64") };
  // Its whole output is searched for secrets.
  const system = await startSystem({ without: ["worker"], env, areSeparate: true });
  const admin = askWith(system, await system.operator("owner", "Olga"));
  const own = { organisation: (await system.organisation()).organisationId };
  const other = { organisation: (await system.organisation()).organisationId };
  const connection = await Connection.connect({ address: system.temporal.address });
  const client = new Client({ connection, namespace: system.temporal.namespace });
  /** Every secret that was shown. */
  const secrets = new Set<string>();
  const rows = async (text: string, values: readonly unknown[]) =>
    (await system.pool.query(text, [...values])).rows;
  return {
    system,
    admin,
    client,
    own,
    other,
    secrets,
    rows,
    /** Creates an endpoint. Returns it with its secret. */
    endpoint: async (change: object = {}, of = own) => {
      const created = await admin.done(call("CreateWebhookEndpoint"), { ...of, url, ...change });
      secrets.add(created.secret);
      return created;
    },
    /** The decrypted secrets of an endpoint: the current one, then the previous one. */
    signingSecrets: (id: string) => openSecrets(system.pool, createEncryption(key), id),
    /** Fails if a secret that was shown is in a log, or unencrypted in a table. */
    expectHiddenSecrets: async () => {
      const tables = [
        "audit_log",
        "webhook_endpoints",
        "webhook_deliveries",
        "events",
        "idempotency_keys",
      ];
      const stored = await Promise.all(
        tables.map((table) => rows(`SELECT t::text AS text FROM ${table} t`, [])),
      );
      const text = stored
        .flat()
        .map((row) => row.text)
        .join("\n");
      const hex = (secret: string) => Buffer.from(secret).toString("hex");
      for (const secret of secrets) {
        for (const form of [secret, hex(secret)])
          expect(text.includes(form) || system.api.output().includes(form)).toBe(false);
      }
    },
    stop: async () => {
      await connection.close();
      await system.stop();
    },
  };
}

/** Returns the workflow of an endpoint's deliveries, once the engine has woken it so often. */
export async function wokenDeliveries(client: Client, endpointId: string, wakes = 1) {
  const handle = client.workflow.getHandle(deliveriesWorkflowId(endpointId));
  return until("the engine has it", async () => {
    const found = await handle.describe().catch(() => null);
    if (found === null) return null;
    const { events } = await handle.fetchHistory();
    const woken = (events ?? []).filter((one) => one.workflowExecutionSignaledEventAttributes);
    return woken.length >= wakes && found;
  });
}

/** Tests of WebhookService on a new system: each part of the fixture by its name. */
export const webhooksTest = test
  .extend(
    "fixture",
    perFile,
    started(startWebhooks, (fixture) => fixture.stop()),
  )
  .extend("system", perFile, ({ fixture }) => fixture.system)
  .extend("admin", perFile, ({ fixture }) => fixture.admin)
  .extend("client", perFile, ({ fixture }) => fixture.client)
  .extend("own", perFile, ({ fixture }) => fixture.own)
  .extend("other", perFile, ({ fixture }) => fixture.other)
  .extend("secrets", perFile, ({ fixture }) => fixture.secrets)
  .extend("rows", perFile, ({ fixture }) => fixture.rows)
  .extend("endpoint", perFile, ({ fixture }) => fixture.endpoint)
  .extend("signingSecrets", perFile, ({ fixture }) => fixture.signingSecrets)
  .extend("expectHiddenSecrets", perFile, ({ fixture }) => fixture.expectHiddenSecrets);
