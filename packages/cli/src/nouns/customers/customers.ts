/**
 * `billing customers`: the ledger's contacts, importing them, and activating or deactivating
 * customers. CUSTOMER-1
 */
import { CustomerService } from "../../../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import type { Noun } from "../../noun.ts";
import { customerByCode } from "../lookups.ts";
import { importCustomers, isIncomplete } from "./import-customers.ts";

const { method } = CustomerService;

const lookups = { id: customerByCode };

/** Lists and imports contacts, lists and changes customers. */
export const customers: Noun = {
  name: "customers",
  summary: "Import the ledger's contacts as customers and manage them",
  verbs: [
    {
      name: "contacts",
      method: method.listLedgerContacts,
      summary: "List the ledger's contacts, each with its customer here.",
      examples: ["customers contacts --importable --all", "customers contacts --search acme"],
      fields: {
        search: "only contacts whose name, code or e-mail address contains this text",
        importable: "only contacts that can be imported",
      },
      columns: ["id", "code", "name", "email", "status", "customer"],
    },
    {
      name: "import",
      method: method.importCustomers,
      also: method.importAllContacts,
      summary: "Import contacts of the ledger as customers.",
      details:
        "A contact that cannot be imported does not delay the others. The command then exits " +
        "with 1. " +
        "With --all, contacts that are archived in the ledger are reported and are no failure. " +
        "Contacts that are only suppliers there are counted and left out, unless " +
        "--include-suppliers is set. An interrupted import prints the cursor to continue from. A " +
        "repeat is safe: a contact that is a customer already stays as it is. A file contains " +
        '{"contacts":[{"ledger_contact_id":"…","code":"ACME","email":"…"}]}.',
      examples: [
        "customers import --contact 5b96e86b-418e-48e8-8949-308c14aec278",
        "customers import --all",
        "customers import --all --search acme --json",
        "customers import --all --include-suppliers",
        "customers import --file contacts.json",
      ],
      fileFields: ["contacts"],
      takesFile: true,
      extra: [
        {
          flags: "--contact <ids...>",
          description: "the ledger's ids of contacts, separated by blanks",
        },
        {
          flags: "--all",
          description:
            "every contact of the ledger that can be imported, a thousand in one call to the " +
            "ledger",
        },
        {
          flags: "--include-suppliers",
          description: "with --all: include contacts that are only suppliers in the ledger",
        },
        {
          flags: "--cursor <cursor>",
          description: "with --all: continue an interrupted import",
        },
        {
          flags: "--search <text>",
          description: "with --all: only contacts with this text in name, code or e-mail address",
        },
      ],
      work: importCustomers,
      rows: "results",
      columns: [
        "ledger_contact_id",
        "status",
        "customer.id",
        "customer.code",
        "customer.name",
        "error.code",
        "error.message",
      ],
      failed: isIncomplete,
    },
    {
      name: "list",
      method: method.listCustomers,
      summary: "List customers, newest first.",
      examples: [
        "customers list",
        "customers list --search acm",
        "customers list --email billing@acme.example",
      ],
      fields: {
        search:
          "only customers with this text in name, company, code or e-mail address, in any case",
        code: "only the customer with this code",
        email: "only customers with this e-mail address, in any case",
        status: "only customers with this status",
      },
      columns: ["id", "code", "name", "email", "status"],
    },
    {
      name: "get",
      method: method.getCustomer,
      summary: "Show a customer.",
      examples: ["customers get ACME"],
      places: ["id"],
      lookups,
    },
    {
      name: "deactivate",
      method: method.deactivateCustomer,
      summary: "Deactivate a customer. It can have no new subscription. Running ones continue.",
      examples: ["customers deactivate ACME"],
      places: ["id"],
      lookups,
    },
    {
      name: "activate",
      method: method.activateCustomer,
      summary: "Activate a deactivated customer.",
      examples: ["customers activate ACME"],
      places: ["id"],
      lookups,
    },
    {
      name: "erase",
      method: method.eraseCustomer,
      summary: "Erase the personal data of a customer without running subscriptions, for ever.",
      details:
        "Documents keep their numbers, amounts and dates. The contact in the ledger is not " +
        "changed: erase it there.",
      examples: ["customers erase ACME --yes"],
      places: ["id"],
      lookups,
      irreversible: () => "Names and e-mail address are replaced everywhere in this service.",
    },
  ],
};
