/** A system for tests of DocumentService, and the calls that those tests share. */
import type { CreatedOrganisation } from "../../../../packages/dev/src/demo/first-data.ts";
import {
  addBands,
  type Json,
  type UnitsBuilder,
  unitsBuilder,
} from "../../../scenario/units-builder.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { type TestSystem, until } from "../../../support/system.ts";
import { adminTest } from "../fixtures.ts";
import type { AdminAsk } from "../request.ts";

/** A subscription from April on. */
export const april = { start_date: "2026-04-01" };

/** Changes of units for the second half of April, and for all of it. */
export const half = { prorate: true, effective_date: "2026-04-16" };
export const whole = { prorate: true, effective_date: "2026-04-01" };

function callsOf(system: TestSystem, admin: AdminAsk, builder: UnitsBuilder) {
  /** An organisation in the middle of April. Up to ten units cost 10 each, more cost 8 each. */
  async function sandbox(changes: Record<string, unknown> = {}): Promise<CreatedOrganisation> {
    const made = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z", ...changes });
    await addBands(system, made);
    return made;
  }

  /** Maps the organisation's default onto an account, also one that the ledger does not have. */
  const map = ({ organisationId }: CreatedOrganisation, revenueAccount: string) =>
    admin.done("AccountMappingService/SetAccountMapping", {
      organisation: organisationId,
      revenueAccount,
      taxType: "OUTPUT2",
      skipCheck: true,
    });

  async function list(
    { organisationId }: CreatedOrganisation,
    query: object = {},
  ): Promise<readonly Json[]> {
    return (
      (
        await admin.done("DocumentService/ListDocuments", {
          organisation: organisationId,
          ...query,
        })
      ).data ?? []
    );
  }

  async function get({ organisationId }: CreatedOrganisation, id: string): Promise<Json> {
    return (await admin.done("DocumentService/GetDocument", { organisation: organisationId, id }))
      .document;
  }

  async function retry({ organisationId }: CreatedOrganisation, id: string): Promise<Json> {
    return (await admin.done("DocumentService/RetryDocument", { organisation: organisationId, id }))
      .document;
  }

  async function refusal({ organisationId }: CreatedOrganisation, id: string): Promise<string> {
    return admin.refused("DocumentService/RetryDocument", { organisation: organisationId, id });
  }

  const synced = (made: CreatedOrganisation, id: string): Promise<Json> =>
    until("the ledger has it", async () => {
      const document = await get(made, id);
      return document.state === "DOCUMENT_STATE_SYNCED" && document;
    });

  /** The audit entry of the last retry of a document of the organisation. */
  async function lastRetry({ organisationId }: CreatedOrganisation): Promise<Json> {
    const { data } = await admin.done("AuditService/ListAuditEntries", {
      organisation: organisationId,
      limit: 100,
    });
    return data.find(({ targetKind }: Json) => targetKind === "document");
  }

  async function setupMode({ organisationId }: CreatedOrganisation, on: boolean): Promise<void> {
    await admin.done("OrganisationService/SetSetupMode", { id: organisationId, setupMode: on });
  }
  return { sandbox, map, list, get, retry, refusal, synced, lastRetry, setupMode };
}

/** Tests of DocumentService on the reused system: an owner's calls, each by its name. */
export const documentsTest = adminTest
  .extend("builder", perFile, ({ system }) => unitsBuilder(system, system.ask))
  .extend("calls", perFile, ({ system, admin, builder }) => callsOf(system, admin, builder))
  .extend("sandbox", perFile, ({ calls }) => calls.sandbox)
  .extend("map", perFile, ({ calls }) => calls.map)
  .extend("list", perFile, ({ calls }) => calls.list)
  .extend("get", perFile, ({ calls }) => calls.get)
  .extend("retry", perFile, ({ calls }) => calls.retry)
  .extend("refusal", perFile, ({ calls }) => calls.refusal)
  .extend("synced", perFile, ({ calls }) => calls.synced)
  .extend("lastRetry", perFile, ({ calls }) => calls.lastRetry)
  .extend("setupMode", perFile, ({ calls }) => calls.setupMode);
