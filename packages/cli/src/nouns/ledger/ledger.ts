/**
 * `billing ledger`: an organisation's connection to its ledger, its sync, and the ledger's lists.
 * ADMIN-4, LEDGER-4
 */
import { LedgerConnectionService } from "../../../../../src/gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { LedgerSyncService } from "../../../../../src/gen/proto/billing/admin/v1/ledger_sync_pb.ts";
import type { Noun } from "../../noun.ts";
import { authoriseLedger } from "./authorise-ledger.ts";
import { reconciliationVerbs } from "./reconcile-ledger.ts";

const { method } = LedgerConnectionService;

/** Connects, checks and syncs the ledger. */
export const ledger: Noun = {
  name: "ledger",
  summary: "Connect an organisation to its ledger, and sync the ledger",
  verbs: [
    {
      name: "connect",
      method: method.connectLedger,
      summary: "Connect the organisation, or replace the credentials of its connection.",
      details:
        "The credentials are tried first. The secret comes from a file, the standard input or a " +
        "prompt, never from an argument.",
      examples: [
        "ledger connect --kind KIND --tenant-id 7078 --client-id 5D0C --client-secret-file s.txt",
        "ledger connect --kind KIND --tenant-id 7078 --client-id 5D0C  # prompts for the secret",
        "ledger connect --file connection.json",
      ],
      fields: {
        kind: "the kind of ledger; an unknown one is refused with the list of kinds",
        tenant_id: "the ledger's id of the organisation there",
        client_id: "the client id of the custom connection",
        base_url: "where the ledger's API is; by default its public address",
        identity_url: "where tokens are issued; by default the ledger's public address",
        skip_check: "save without trying the credentials first",
      },
      takesFile: true,
      irreversible: ({ skip_check: skipped }) =>
        skipped === true
          ? "The connection's current credentials are replaced by untried ones."
          : null,
    },
    {
      name: "authorise",
      method: method.beginLedgerAuthorisation,
      summary:
        "Connect the organisation by a person's consent: show the address to open in a browser.",
      details:
        "The address works once, for ten minutes. The browser returns to the admin port, which " +
        "connects the organisation. With --wait the command ends when the organisation is " +
        "connected. It exits with 1 if the time is up before.",
      examples: ["ledger authorise --wait", "ledger authorise --json"],
      fields: { kind: "the kind of ledger; the connected one if left out" },
      extra: [
        {
          flags: "--wait [seconds]",
          description: "wait for the outcome, by default at most 600 seconds",
        },
      ],
      work: authoriseLedger,
      failed: ({ status }, { wait }) =>
        wait !== undefined && status !== "connected" && status !== "choose",
    },
    {
      name: "authorisation",
      method: method.getLedgerAuthorisation,
      summary: "Show the progress of the newest authorisation, and the tenants to choose from.",
      examples: ["ledger authorisation", "ledger authorisation --json"],
    },
    {
      name: "choose",
      method: method.chooseLedgerTenant,
      summary: "Choose the tenant, if the consent covers several.",
      examples: ["ledger choose 70784a63-…"],
      places: ["tenant_id"],
    },
    {
      name: "disconnect",
      method: method.disconnectLedger,
      summary: "Disconnect the organisation. Customers and documents stay, and ledger jobs wait.",
      details:
        "A connection by consent is ended in the ledger first. All work continues when the same " +
        "tenant is connected again.",
      examples: [
        "ledger disconnect --yes",
        "ledger disconnect --skip-ledger    # the ledger no longer grants access",
      ],
      fields: { skip_ledger: "do not call the ledger to end the connection" },
      irreversible: () =>
        "Its credentials and tokens are deleted. Only an owner can connect it again.",
    },
    {
      name: "get",
      method: method.getLedgerConnection,
      summary: "Show the connection, without its secret.",
      examples: [
        "ledger get",
        "ledger get --organisation 0199a0b2-0000-7000-8000-000000000001 --json",
      ],
    },
    {
      name: "check",
      method: method.checkLedgerConnection,
      summary: "Check with the ledger that the credentials work. Exits with 1 if they do not.",
      examples: ["ledger check"],
      failed: ({ ok }) => ok !== true,
    },
    {
      name: "sync",
      method: LedgerSyncService.method.syncLedger,
      summary: "Sync what people changed in the ledger at once, and show what that changed here.",
      details:
        "Exits with 1 if the sync takes longer than 20 seconds. It then continues automatically.",
      examples: ["ledger sync", "ledger sync --json"],
      failed: ({ finished }) => finished !== true,
    },
    {
      name: "status",
      method: LedgerSyncService.method.getLedgerSync,
      summary:
        "Show the ledger sync: when the ledger was last read, what that changed, what is pending.",
      examples: ["ledger status"],
    },
    ...reconciliationVerbs,
    {
      name: "options",
      method: method.listMappingOptions,
      summary: "List the ledger's accounts, tax rates or currencies that lines can be mapped onto.",
      examples: ["ledger options accounts", "ledger options tax-rates --json"],
      places: ["kind"],
      columns: ["code", "name", "active", "usable_for_revenue"],
    },
  ],
};
