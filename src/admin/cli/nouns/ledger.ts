/**
 * `billing ledger`: an organisation's connection to its ledger, its sync, and the ledger's lists.
 * ADMIN-4, LEDGER-4
 */
import { LedgerConnectionService } from "../../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { LedgerMirrorService } from "../../../gen/proto/billing/admin/v1/ledger_mirror_pb.ts";
import { authoriseLedger } from "../authorise-ledger.ts";
import type { Noun } from "../noun.ts";

const { method } = LedgerConnectionService;

/** Connects, checks and syncs the ledger. */
export const ledger: Noun = {
  name: "ledger",
  summary: "Connect an organisation to its ledger and look at the connection",
  verbs: [
    {
      name: "connect",
      method: method.connectLedger,
      summary: "Connect the organisation, or replace the credentials of its connection.",
      details:
        "The credentials are tried first. " +
        "The secret comes from a file, the standard input or a prompt, never from an argument.",
      examples: [
        "ledger connect --kind KIND --tenant-id 70784a63 --client-id 5D0C --client-secret-file s.txt",
        "ledger connect --kind KIND --tenant-id 70784a63 --client-id 5D0C    # prompts for the secret",
        "ledger connect --file connection.json",
      ],
      fields: {
        kind: "the kind of ledger; an unknown one is refused with the list of kinds",
        tenant_id: "the ledger's id of the organisation there",
        client_id: "the client id of the custom connection",
        base_url: "where the ledger's API is; its own address if left out",
        identity_url: "where tokens are issued; the ledger's own address if left out",
        skip_check: "save without trying the credentials first",
      },
      takesFile: true,
      irreversible: ({ skip_check: skipped }) =>
        skipped === true
          ? "Credentials that the connection has now are replaced, by ones that nobody tried."
          : null,
    },
    {
      name: "authorise",
      method: method.beginLedgerAuthorisation,
      summary:
        "Connect the organisation by a person's consent: answers the address to open in a browser.",
      details:
        "The address is good once, for ten minutes. " +
        "The browser comes back to the admin port, which connects the organisation. " +
        "With --wait the command ends when it is connected: with 1 if it is not.",
      examples: ["ledger authorise --wait", "ledger authorise --json"],
      fields: { kind: "the kind of ledger; the connected one if left out" },
      extra: [
        {
          flags: "--wait [seconds]",
          description: "wait for what comes of it, 600 seconds at most if none are given",
        },
      ],
      work: authoriseLedger,
      failed: ({ status }, { wait }) =>
        wait !== undefined && status !== "connected" && status !== "choose",
    },
    {
      name: "authorisation",
      method: method.getLedgerAuthorisation,
      summary: "Show how far the newest authorisation is, and which tenants can be chosen.",
      examples: ["ledger authorisation", "ledger authorisation --json"],
    },
    {
      name: "choose",
      method: method.chooseLedgerTenant,
      summary: "Choose the tenant that is meant, where consent was given for several.",
      examples: ["ledger choose 70784a63-…"],
      places: ["tenant_id"],
    },
    {
      name: "disconnect",
      method: method.disconnectLedger,
      summary:
        "Disconnect the organisation: customers and documents stay, and work with the ledger waits.",
      details:
        "A connection by consent is ended in the ledger first. " +
        "Everything continues when the same tenant is connected again.",
      examples: [
        "ledger disconnect --yes",
        "ledger disconnect --skip-ledger    # the ledger does not let us in any more",
      ],
      fields: { skip_ledger: "do not ask the ledger to end the connection" },
      irreversible: () =>
        "Its credentials and tokens are deleted: an owner has to connect it again.",
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
      summary: "Ask the ledger whether the credentials work; ends with 1 where they do not.",
      examples: ["ledger check"],
      failed: ({ ok }) => ok !== true,
    },
    {
      name: "sync",
      method: LedgerMirrorService.method.syncLedger,
      summary:
        "Read again at once what people changed in the ledger, and show what that changed here.",
      details: "Ends with 1 where it is not done within 20 seconds; it then goes on by itself.",
      examples: ["ledger sync", "ledger sync --json"],
      failed: ({ finished }) => finished !== true,
    },
    {
      name: "status",
      method: LedgerMirrorService.method.getLedgerSync,
      summary:
        "Show the ledger sync: when the ledger was read last, what that changed, and what waits.",
      examples: ["ledger status"],
    },
    {
      name: "options",
      method: method.listMappingOptions,
      summary: "List the ledger's accounts, tax rates or currencies, to map onto.",
      examples: ["ledger options accounts", "ledger options tax-rates --json"],
      places: ["kind"],
      columns: ["code", "name", "active", "usable_for_revenue"],
    },
  ],
};
