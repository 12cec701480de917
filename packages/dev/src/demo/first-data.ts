/**
 * The first data of an empty database, so that a request works at once. It has a live organisation
 * and a sandbox, each connected to its own tenant in the demo ledger, with keys, catalogue and
 * customers.
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import type { Customer } from "../../../../src/domain/customers/customer.ts";
import { ledgers } from "../../../../src/ledger/index.ts";
import type { LedgerContactDraft } from "../../../../src/ledger/port/ledger.ts";
import { ledgerKindOf } from "../../../../src/ledger/port/ledger-kind.ts";
import { createFirstOperator } from "../../../../src/store/admin/first-operator.ts";
import { createEncryption } from "../../../../src/store/database/encryption.ts";
import { derivedId, newId } from "../../../../src/store/database/ids.ts";
import type { LedgerConnection } from "../../../../src/store/ledger-connection/connections.ts";
import {
  generateApiKey,
  generateOperatorToken,
} from "../../../../src/transport/rpc/gate/api-key.ts";
import { demoCatalogue, demoContacts } from "./demo-catalogue.ts";
import { createSettingUp, type OrganisationToSave, type SettingUp } from "./provision.ts";

/** The target of the data. `secretKey` is the key of the API and worker: 32 bytes in base64. */
export interface FirstDataSettings {
  readonly databaseUrl: string;
  readonly demoLedgerUrl: string;
  readonly secretKey: string;
  /** Where the sandbox's clock stands. It shows real time if left out. */
  readonly sandboxClock?: Date;
  /** Opens the ledger of an organisation in place of a tenant of the demo ledger. */
  readonly openTenant?: OpenTenant;
}

/** Creates an organisation's tenant in a ledger. */
export type OpenTenant = (organisation: DemoOrganisation) => Promise<DemoTenant>;

/** A tenant: the connection to it, its currency, and a tax type of sales in it. */
export interface DemoTenant {
  readonly connection: LedgerConnection;
  readonly currency: string;
  readonly taxType: string;
}

/** The keys and the operator's token, whose values are not stored. */
export interface FirstData {
  readonly liveKey: string;
  readonly testKey: string;
  /** The token of the first operator, an owner. Null if there was an operator already. */
  readonly operatorToken: string | null;
  /** The id that the subscription of the first printed call gets. */
  readonly subscriptionId: string;
}

/** The created data. */
export interface CreatedFirstData extends FirstData {
  readonly sandbox: CreatedOrganisation;
}

/** The differences between the organisations of the first data. */
export interface DemoOrganisation {
  readonly name: string;
  readonly livemode: boolean;
  readonly timezone: string;
  readonly currency: string;
  /** With a meter, and a price for it on a plan. */
  readonly metered?: boolean;
  /** Whether its keys may report usage. A sandbox's may not if left out (CLOCK-2). */
  readonly usageAllowed?: boolean;
  /** Where a sandbox's clock stands. It shows real time if left out. */
  readonly testClock?: Date | undefined;
}

/** A created organisation with its key. */
export interface CreatedOrganisation {
  readonly organisationId: string;
  readonly apiKeyId: string;
  readonly apiKey: string;
  readonly tenantId: string;
}

/** Every scope of a key (ACCESS-3). */
export const allScopes = [
  "customers:read",
  "customers:write",
  "catalogue:read",
  "subscriptions:read",
  "subscriptions:write",
  "invoices:read",
  "credit_notes:read",
  "usage:write",
] as const;

/** The name of the keys of the first data. `npm run credentials` finds them by it. */
export const firstKeyName = "First key";

/** A revenue account of each ledger here. */
const revenueAccount = "200";

/** The time limit of a call to the demo ledger. */
const callDeadlineMs = 10_000;

/**
 * The Idempotency-Key of the first printed call. It determines the subscription's id in advance
 * (IDEMPOTENCY-7).
 */
export const firstTry = "first-try";

/** Creates the first data, or returns null if the database has an organisation already. */
export async function createFirstData(
  settings: FirstDataSettings,
): Promise<CreatedFirstData | null> {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: 2 });
  const settingUp = createSettingUp(
    pool,
    createEncryption(Buffer.from(settings.secretKey, "base64")),
  );
  try {
    if (!(await settingUp.isEmpty())) return null;
    const zone = { timezone: "Pacific/Auckland", currency: "NZD", metered: true };
    const live = { ...zone, name: "Northwind Software", livemode: true };
    const sandbox = {
      ...zone,
      name: "Northwind Software (sandbox)",
      livemode: false,
      usageAllowed: true,
      testClock: settings.sandboxClock,
    };
    const openTenant = settings.openTenant ?? demoTenants(settings.demoLedgerUrl);
    const first = await prepareDemoOrganisation(openTenant, live);
    const second = await prepareDemoOrganisation(openTenant, sandbox);
    // All or nothing: after a start that dies in between, the next start begins again.
    await settingUp.save(first.toSave, second.toSave);
    const token = generateOperatorToken();
    const isCreated = await createFirstOperator(pool, "First operator", token);
    return {
      liveKey: first.created.apiKey,
      testKey: second.created.apiKey,
      operatorToken: isCreated ? token.value : null,
      subscriptionId: firstSubscriptionId(first.created.apiKeyId),
      sandbox: second.created,
    };
  } finally {
    await pool.end();
  }
}

/** The id of the subscription that the first printed call creates with this key. */
export function firstSubscriptionId(apiKeyId: string): string {
  return derivedId("subscription", apiKeyId, firstTry);
}

/** Creates one organisation on a new tenant of the demo ledger. */
export async function createDemoOrganisation(
  settingUp: SettingUp,
  demoLedgerUrl: string,
  organisation: DemoOrganisation,
): Promise<CreatedOrganisation> {
  const { created, toSave } = await prepareDemoOrganisation(
    demoTenants(demoLedgerUrl),
    organisation,
  );
  await settingUp.save(toSave);
  return created;
}

/** Creates the tenant and its contacts, and prepares everything else for the save. */
async function prepareDemoOrganisation(
  openTenant: OpenTenant,
  organisation: DemoOrganisation,
): Promise<{ readonly created: CreatedOrganisation; readonly toSave: OrganisationToSave }> {
  const { name, livemode, timezone, testClock } = organisation;
  const { connection, currency, taxType } = await openTenant(organisation);
  const now = new Date();
  const customers = await createLedgerContacts(connection, demoContacts, now);
  const organisationId = newId();
  const key = generateApiKey(livemode);
  const apiKeyId = newId();
  const toSave: OrganisationToSave = {
    settings: {
      id: organisationId,
      name,
      timezone,
      defaultCurrency: currency,
      setupMode: false,
      canCreateLedgerContacts: true,
      livemode,
      usageAllowed: organisation.usageAllowed ?? livemode,
      ...(testClock === undefined ? {} : { testClock }),
      invoiceCreateDays: 0,
      firstInvoiceStatus: "draft",
      dueDays: 14,
      numberPrefix: "INV-",
      revenueAccount,
      taxType,
    },
    connection,
    apiKeys: [
      { id: apiKeyId, name: firstKeyName, hash: key.hash, hint: key.hint, scopes: allScopes },
    ],
    ...demoCatalogue(currency, now, organisation.metered),
    customers,
  };
  return {
    created: { organisationId, apiKeyId, apiKey: key.value, tenantId: connection.tenantId },
    toSave,
  };
}

/** Opens tenants of the demo ledger. */
function demoTenants(demoLedgerUrl: string): OpenTenant {
  return async (organisation) => ({
    connection: await createTenant(demoLedgerUrl, organisation),
    currency: organisation.currency,
    taxType: "OUTPUT2",
  });
}

async function createTenant(
  demoLedgerUrl: string,
  organisation: DemoOrganisation,
): Promise<LedgerConnection> {
  const tenantId = newId();
  const clientId = `demo-${tenantId}`;
  const clientSecret = randomBytes(24).toString("base64url");
  const { name, currency, timezone } = organisation;
  const response = await fetch(`${demoLedgerUrl}/demo/tenants`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tenantId, name, currency, timezone, clientId, clientSecret }),
  });
  if (!response.ok)
    throw new Error(`The demo ledger made no tenant: ${response.status} ${await response.text()}`);
  const baseUrl = `${demoLedgerUrl}/api.xro/2.0`;
  const identityUrl = `${demoLedgerUrl}/connect/token`;
  return {
    kind: "xero",
    grantKind: "custom",
    tenantId,
    baseUrl,
    identityUrl,
    clientId,
    clientSecret,
  };
}

async function createLedgerContacts(
  connection: LedgerConnection,
  drafts: readonly LedgerContactDraft[],
  now: Date,
): Promise<readonly Customer[]> {
  const ledger = ledgerKindOf(ledgers, connection.kind).connect(connection, {});
  try {
    const answer = await ledger.createContacts(
      { deadlineMs: callDeadlineMs, jobKeys: [newId()] },
      drafts,
    );
    if (answer.kind !== "ok")
      throw new Error(`The demo ledger made no contacts: ${JSON.stringify(answer)}`);
    return drafts.map((draft, index): Customer => {
      const contact = answer.value[index];
      if (contact?.kind !== "ok")
        throw new Error(`The demo ledger refused ${draft.code}: ${JSON.stringify(contact)}`);
      return {
        id: newId(),
        code: draft.code,
        name: draft.name,
        companyName: null,
        firstName: draft.firstName,
        lastName: draft.lastName,
        email: draft.email ?? "",
        status: "active",
        ledgerContactId: contact.value.id,
        createdAt: now,
      };
    });
  } finally {
    await ledger.close();
  }
}
