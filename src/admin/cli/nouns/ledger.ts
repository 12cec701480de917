/** `billing ledger`: the connection of an organisation to its ledger, and what the ledger offers. */
import { LedgerConnectionService } from "../../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import type { Noun } from "../noun.ts";

const { method } = LedgerConnectionService;

/** The noun. */
export const ledger: Noun = {
  name: "ledger",
  summary: "Connect an organisation to its ledger and look at the connection",
  verbs: [
    {
      name: "connect",
      method: method.connectLedger,
      summary: "Connect the organisation, or replace the credentials of its connection.",
      details:
        "The credentials are tried first. The secret comes from a file, the standard input or a prompt, never from an argument.",
      examples: [
        "ledger connect --tenant-id 70784a63-… --client-id 5D0C… --client-secret-file secret.txt",
        "ledger connect --tenant-id 70784a63-… --client-id 5D0C…    # asks for the secret",
        "ledger connect --file connection.json",
      ],
      fields: {
        kind: "the kind of ledger; xero if left out",
        tenant_id: "the ledger's id of the organisation there",
        client_id: "the client id of the custom connection",
        base_url: "where the ledger's API is; Xero's own address if left out",
        identity_url: "where tokens are had; Xero's own address if left out",
        skip_check: "save without trying the credentials first",
      },
      takesFile: true,
      irreversible: ({ skip_check: skipped }) =>
        skipped === true ? "Credentials that the connection has now are replaced, by ones that nobody tried." : null,
    },
    {
      name: "get",
      method: method.getLedgerConnection,
      summary: "Show the connection, without its secret.",
      examples: ["ledger get", "ledger get --organisation 0199a0b2-0000-7000-8000-000000000001 --json"],
    },
    {
      name: "check",
      method: method.checkLedgerConnection,
      summary: "Ask the ledger whether the credentials work; ends with 1 where they do not.",
      examples: ["ledger check"],
      failed: ({ ok }) => ok !== true,
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
