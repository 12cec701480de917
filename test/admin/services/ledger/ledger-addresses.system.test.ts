/**
 * The addresses of a ledger that an owner may set: public ones, unless the server is started for
 * development. ADMIN-4
 */
import { expect } from "vitest";
import { perFile } from "../../../support/file-fixture.ts";
import { aloneAdminTest } from "../fixtures.ts";
import type { AdminAsk, Tenant } from "../request.ts";

const test = aloneAdminTest.extend("settings", perFile, {
  env: { LEDGER_ADDRESSES: "public" },
  without: ["worker"],
});

const connect = "LedgerConnectionService/ConnectLedger";

const publicly = {
  kind: "xero",
  tenantId: "tenant",
  clientId: "client",
  clientSecret: "secret",
  baseUrl: "https://ledger.example.com/api.xro/2.0",
  identityUrl: "https://ledger.example.com/connect/token",
} satisfies Tenant;

async function newOrganisation(admin: AdminAsk): Promise<{ readonly organisation: string }> {
  const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
    name: "New",
    timezone: "Pacific/Auckland",
    defaultCurrency: "NZD",
  });
  return { organisation: organisation.id };
}

test.for([
  "http://ledger.example.com/api",
  "https://127.0.0.1/api",
  "https://localhost/api",
  "https://10.0.0.8/api",
  "https://[::ffff:169.254.169.254]/api",
  "https://ledger.example.com:5432/api",
  "https://user:password@ledger.example.com/api",
  "https://ledger.example.com/api#fragment",
  "https://ledger.example.com/api?query",
  "https://ledger/api",
])("%s is refused as either address, and never saved", async (address, { admin }) => {
  const own = await newOrganisation(admin);
  for (const [member, param] of [
    ["baseUrl", "base_url"],
    ["identityUrl", "identity_url"],
  ] as const) {
    for (const skipCheck of [true, false]) {
      const asked = { ...own, ...publicly, [member]: address, skipCheck };
      expect(await admin.refused(connect, asked)).toBe(`invalid_parameter ${param}`);
    }
  }
  expect(await admin.refused("LedgerConnectionService/GetLedgerConnection", own)).toBe(
    "ledger_not_connected",
  );
});

test("a public address can be saved, and the ledger's own addresses are the default", async ({
  admin,
}) => {
  const own = await newOrganisation(admin);
  const { baseUrl, identityUrl, ...credentials } = publicly;
  const saved = await admin.done(connect, { ...own, ...publicly, skipCheck: true });
  expect(saved.connection).toMatchObject({ baseUrl, identityUrl });
  const xero = await admin.done(connect, { ...own, ...credentials, skipCheck: true });
  expect(xero.connection.baseUrl).toBe("https://api.xero.com/api.xro/2.0");
});

test("a connection to an address that is no longer allowed is not called", async ({
  system,
  admin,
}) => {
  const made = await system.organisation();
  const own = { organisation: made.organisationId };
  const before = await system.ledgerCalls(made.tenantId);
  const answer = await admin.done("LedgerConnectionService/CheckLedgerConnection", own);
  expect(answer.problem).toContain("the address of the ledger must begin with https://");
  expect(await system.ledgerCalls(made.tenantId)).toEqual(before);
});
