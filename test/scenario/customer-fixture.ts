/** The fixtures of tests of create customer: requests, and contacts of the demo ledger. */
import { randomUUID } from "node:crypto";
import { perFile } from "../support/file-fixture.ts";
import type { RequestOptions } from "../support/system.ts";
import { scenarioTest } from "./fixtures.ts";

/** A contact as the demo ledger stores it. */
export interface Contact {
  readonly contact_id: string;
  readonly contact_number: string | null;
  readonly name: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly email: string | null;
}

/**
 * Tests in `own`. `contactsNamed` returns the contacts of this name in its ledger. `addContact`
 * adds one that is no customer, and returns its id.
 */
export const customerTest = scenarioTest
  .extend(
    "create",
    perFile,
    ({ ask, own }) =>
      (body: unknown, options: RequestOptions = {}) =>
        ask("POST", "/v1/customers", { key: own.apiKey, body, ...options }),
  )
  .extend(
    "contactsNamed",
    perFile,
    ({ system, own }) =>
      async (name: string): Promise<readonly Contact[]> => {
        const { rows } = await system.pool.query<Contact>(
          `SELECT contact_id, contact_number, name, first_name, last_name, email
            FROM demo_ledger.contacts WHERE tenant_id = $1 AND name = $2`,
          [own.tenantId, name],
        );
        return rows;
      },
  )
  .extend(
    "addContact",
    perFile,
    ({ system, own }) =>
      async (name: string, number: string | null = null, status = "ACTIVE"): Promise<string> => {
        const id = randomUUID();
        await system.pool.query(
          `INSERT INTO demo_ledger.contacts (contact_id, tenant_id, name, contact_number, email,
              status)
            VALUES ($1, $2, $3, $4, 'old@ledger.example', $5)`,
          [id, own.tenantId, name, number, status],
        );
        return id;
      },
  )
  .extend(
    "customersWithCode",
    perFile,
    ({ ask, own }) =>
      async (code: string) =>
        (await ask("GET", `/v1/customers?code=${encodeURIComponent(code)}`, { key: own.apiKey }))
          .json.data,
  );
