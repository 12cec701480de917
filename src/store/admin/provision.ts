/**
 * Creates organisations with their settings, ledger connection, key, catalogue and customers, in
 * one transaction. These are ordinary writes through Prisma.
 */

import { PrismaPg } from "@prisma/adapter-pg";
import { checkMeteredPlan, type Meter, type MeteredPlan } from "../../domain/catalogue/meter.ts";
import type { Charge } from "../../domain/catalogue/plan.ts";
import type { Customer } from "../../domain/customers/customer.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { OrganisationSettings } from "../../domain/subscriptions/organisation-settings.ts";
import { PrismaClient } from "../../gen/prisma/client.ts";
import { insertPlanPrices, planRecord } from "../catalogue/plan-writes.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import type { LedgerConnection } from "../ledger-connection/connections.ts";

/** A key to store: its hash, and the part of it that may be shown. */
export interface ApiKeyToSave {
  readonly id: string;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly hint: string;
  readonly scopes: readonly string[];
}

/** An organisation with everything that it starts with. */
export interface OrganisationToSave {
  readonly settings: OrganisationSettings & { readonly usageAllowed: boolean };
  readonly connection: LedgerConnection;
  readonly apiKeys: readonly ApiKeyToSave[];
  readonly meters: readonly Meter[];
  /** Their meters are those of `meters`. */
  readonly plans: readonly MeteredPlan[];
  readonly charges: readonly Charge[];
  readonly customers: readonly Customer[];
}

/** Writes new organisations with their initial data. */
export interface SettingUp {
  /** Whether no organisation exists. */
  isEmpty(): Promise<boolean>;
  /**
   * Writes all of them in one transaction. Refuses `invalid_parameter` for a plan that could not be
   * priced.
   */
  save(...organisations: readonly OrganisationToSave[]): Promise<void>;
  close(): Promise<void>;
}

/** The kinds of documents and codes that each organisation numbers separately. */
const counters = ["invoice", "credit_note"] as const;

/**
 * Time limit of the transaction. Its dozens of statements take a tenth of a second. The library's
 * default of five seconds could fail a first start on a busy machine.
 */
const limitMs = 60_000;

/** Creates the writer of organisations over a pool. */
export function createSettingUp(pool: Pool, encryption: Encryption): SettingUp {
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    isEmpty: async () => (await prisma.organisation.count()) === 0,
    save: async (...organisations) => {
      for (const plan of organisations.flatMap(({ plans }) => plans)) checkMeteredPlan(plan);
      await prisma.$transaction(
        async (client) => {
          for (const organisation of organisations)
            await saveAll(client as PrismaClient, encryption, organisation);
        },
        { maxWait: limitMs, timeout: limitMs },
      );
    },
    close: () => prisma.$disconnect(),
  };
}

async function saveAll(
  client: PrismaClient,
  encryption: Encryption,
  organisation: OrganisationToSave,
): Promise<void> {
  const { settings, connection } = organisation;
  const organisationId = settings.id;
  await client.organisation.create({ data: { ...settings } });
  const encrypted = encryption.encrypt(connection.clientSecret, organisationId);
  await client.ledgerConnection.create({
    data: {
      organisationId,
      kind: connection.kind,
      tenantId: connection.tenantId,
      baseUrl: connection.baseUrl,
      identityUrl: connection.identityUrl,
      clientId: connection.clientId,
      encryptedSecret: new Uint8Array(encrypted.bytes),
      encryptionKeyId: encrypted.keyId,
    },
  });
  await client.documentCounter.createMany({
    data: counters.map((kind) => ({ organisationId, kind })),
  });
  await client.apiKey.createMany({
    data: organisation.apiKeys.map(({ id, name, hash, hint, scopes }) => ({
      id,
      organisationId,
      name,
      keyHash: new Uint8Array(hash),
      hint,
      scopes: [...scopes],
    })),
  });
  await client.meter.createMany({
    data: organisation.meters.map((meter) => ({ ...meter, organisationId })),
  });
  await client.plan.createMany({
    data: organisation.plans.map((plan) => planRecord(organisationId, plan)),
  });
  await insertPlanPrices(client, organisationId, organisation.plans);
  await client.charge.createMany({
    data: organisation.charges.map((charge) => ({
      ...charge,
      organisationId,
      price: formatDecimal(charge.price),
    })),
  });
  await client.customer.createMany({
    data: organisation.customers.map((each) => ({ ...each, organisationId })),
  });
}
