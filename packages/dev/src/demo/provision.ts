/**
 * Creates organisations with their settings, ledger connection, key, catalogue and customers, in
 * one transaction.
 */
import {
  checkMeteredPlan,
  type Meter,
  type MeteredPlan,
} from "../../../../src/domain/catalogue/meter.ts";
import type { Charge } from "../../../../src/domain/catalogue/plan.ts";
import type { Customer } from "../../../../src/domain/customers/customer.ts";
import type { OrganisationSettings } from "../../../../src/domain/model/organisation-settings.ts";
import { formatDecimal } from "../../../../src/domain/money/decimal.ts";
import { createCounters } from "../../../../src/store/admin/organisations/organisations.ts";
import { planColumns, planPrices } from "../../../../src/store/catalogue/plan-writes.ts";
import type { Encryption } from "../../../../src/store/database/encryption.ts";
import { inTransaction, type Pool } from "../../../../src/store/database/pool.ts";
import { type Db, db, loadClient } from "../../../../src/store/database/prisma/client.ts";
import type { LedgerConnection } from "../../../../src/store/ledger-connection/connections.ts";

/** A key to store: its hash, and the part of it that may be shown. */
interface ApiKeyToSave {
  readonly id: string;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly hint: string;
  readonly scopes: readonly string[];
}

/** An organisation with everything that it starts with. */
export interface OrganisationToSave {
  readonly settings: OrganisationSettings & {
    readonly usageAllowed: boolean;
    /** Where a sandbox's clock stands. It shows real time if left out. */
    readonly testClock?: Date;
  };
  readonly connection: LedgerConnection;
  readonly apiKeys: readonly ApiKeyToSave[];
  readonly meters: readonly Meter[];
  /** Their meters are those of `meters`. */
  readonly plans: readonly MeteredPlan[];
  readonly charges: readonly Charge[];
  readonly customers: readonly Customer[];
}

/** Writes new organisations with their initial data. */
export type SettingUp = ReturnType<typeof createSettingUp>;

/** Creates the writer of organisations over a pool. */
export function createSettingUp(pool: Pool, encryption: Encryption) {
  return {
    /** Whether no organisation exists. */
    isEmpty: async () => (await db(pool).organisation.count()) === 0,
    /**
     * Writes all of them in one transaction. Refuses `invalid_parameter` for a plan that could not
     * be priced.
     */
    save: async (...organisations: readonly OrganisationToSave[]) => {
      for (const plan of organisations.flatMap(({ plans }) => plans)) checkMeteredPlan(plan);
      await loadClient(pool);
      await inTransaction(pool, async (tx) => {
        for (const organisation of organisations) await saveAll(db(tx), encryption, organisation);
      });
    },
  };
}

async function saveAll(
  client: Db,
  encryption: Encryption,
  { settings, connection, ...initial }: OrganisationToSave,
): Promise<void> {
  const organisationId = settings.id;
  await client.organisation.create({ data: { ...settings } });
  const secret = encryption.encrypt(connection.clientSecret, organisationId);
  await client.ledgerConnection.create({
    data: {
      organisationId,
      kind: connection.kind,
      tenantId: connection.tenantId,
      baseUrl: connection.baseUrl,
      identityUrl: connection.identityUrl,
      clientId: connection.clientId,
      encryptedSecret: new Uint8Array(secret.bytes),
      encryptionKeyId: secret.keyId,
    },
  });
  await createCounters(client, organisationId);
  await client.apiKey.createMany({
    data: initial.apiKeys.map(({ id, name, hash, hint, scopes }) => ({
      id,
      organisationId,
      name,
      keyHash: new Uint8Array(hash),
      hint,
      scopes: [...scopes],
    })),
  });
  await client.meter.createMany({
    data: initial.meters.map((meter) => ({ ...meter, organisationId })),
  });
  for (const plan of initial.plans) {
    const data = { ...planColumns(plan), ...planPrices(plan), organisationId };
    await client.plan.create({ data });
  }
  await client.charge.createMany({
    data: initial.charges.map((charge) => ({
      ...charge,
      organisationId,
      price: formatDecimal(charge.price),
    })),
  });
  await client.customer.createMany({
    data: initial.customers.map((customer) => ({ ...customer, organisationId })),
  });
}
