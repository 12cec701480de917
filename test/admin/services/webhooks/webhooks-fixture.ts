/** A system without a worker, so that nothing is delivered, for tests of WebhookService. */
import { randomBytes } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { expect } from "vitest";
import { createEncryption } from "../../../../src/store/database/encryption.ts";
import { startSystem } from "../../../support/system.ts";
import { askWith } from "../request.ts";
import { openSecrets } from "./webhook-rows.ts";

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
  const system = await startSystem({ without: ["worker"], env });
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
