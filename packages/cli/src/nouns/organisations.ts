/** `billing organisations`: organisations, their settings, and Setup Mode. */
import { OrganisationService } from "../../../../src/gen/proto/billing/admin/v1/organisations_pb.ts";
import { type Noun, previewedStateText } from "../noun.ts";
import { setupModeLines } from "./setup-mode-lines.ts";

const { method } = OrganisationService;

const settings = {
  name: "its name",
  timezone: "the IANA name of its timezone, such as Pacific/Auckland",
  default_currency: "its ISO 4217 currency code",
  can_create_ledger_contacts:
    "customers, and contacts in the ledger, may be created through the API",
  usage_allowed: "usage may be reported through the API",
  invoice_create_days:
    "days ahead of the renewal date that renewal invoices are issued; from then on changes of " +
    "units amend the invoice or are billed separately",
  first_invoice_status:
    "the status of new invoices in the ledger; prorated charges join drafts, held credit is " +
    "applied to approved ones",
  due_days: "days from an invoice's issue to its due date",
  number_prefix:
    "the prefix of invoice numbers, of A-Z, 0-9 and /_.-; credit notes have CN- before it, and " +
    "instead of INV-",
};

/** The warning before Setup Mode is turned on. SETUP-3 */
const setupModeSentence =
  "Billing periods that begin while Setup Mode is on are never billed, also not after it is off.";

/** Why a switch may be refused. SETUP-4 */
const switchSentence = [
  "A switch first performs what is due. It is refused, with the reason, while a due " +
    "subscription is",
  "parked, or while an end, an amendment or a restoration is running.",
].join(" ");

/** Creates, lists and changes organisations, and switches Setup Mode. */
export const organisations: Noun = {
  name: "organisations",
  summary: "Create organisations and change their settings",
  verbs: [
    {
      name: "create",
      method: method.createOrganisation,
      summary: "Create an organisation and show its id.",
      details: "It starts without a ledger connection, API keys or catalogue.",
      examples: [
        "organisations create --name 'Northwind Software' --timezone Pacific/Auckland " +
          "--default-currency NZD",
        "organisations create --file northwind.json --no-livemode",
      ],
      fields: {
        ...settings,
        livemode: "live, the default; a sandbox with --no-livemode",
        setup_mode: "start in Setup Mode",
      },
      takesFile: true,
    },
    {
      name: "list",
      method: method.listOrganisations,
      summary: "List organisations, newest first.",
      examples: ["organisations list", "organisations list --all --json"],
      fields: { name: "only organisations with this name, in any case" },
      columns: [
        "id",
        "name",
        "default_currency",
        "timezone",
        "livemode",
        "setup_mode",
        "ledger_connected",
      ],
    },
    {
      name: "get",
      method: method.getOrganisation,
      summary: "Show an organisation with all its settings.",
      examples: [
        "organisations get $BILLING_ORGANISATION",
        "organisations get 'Northwind Software' -o yaml",
      ],
      places: ["id"],
      ofOrganisations: true,
    },
    {
      name: "update",
      method: method.updateOrganisation,
      summary: "Change only the settings that are named.",
      details: "New values apply to objects that are created from now on.",
      examples: [
        "organisations update $BILLING_ORGANISATION --due-days 30 --first-invoice-status approved",
        "organisations update $BILLING_ORGANISATION --file settings.json",
        "organisations update $BILLING_ORGANISATION --no-usage-allowed",
      ],
      places: ["id"],
      ofOrganisations: true,
      fields: settings,
      takesFile: true,
    },
    {
      name: "preview-setup-mode",
      method: method.previewSetSetupMode,
      lines: setupModeLines,
      summary: "Show the effects of a switch of Setup Mode, and what is billed before it.",
      details: "Nothing is changed.",
      examples: ["organisations preview-setup-mode $BILLING_ORGANISATION on"],
      places: ["id", "setup_mode"],
      ofOrganisations: true,
    },
    {
      name: "setup-mode",
      method: method.setSetupMode,
      summary: "Turn Setup Mode on or off, and show the effects.",
      details: [
        "While it is on, the organisation reflects billing that exists elsewhere.",
        setupModeSentence,
        switchSentence,
      ].join(" "),
      examples: [
        "organisations setup-mode $BILLING_ORGANISATION on --yes",
        "organisations setup-mode $BILLING_ORGANISATION off",
      ],
      places: ["id", "setup_mode"],
      ofOrganisations: true,
      fields: { previewed_state: previewedStateText },
      irreversible: ({ setup_mode: on }) => (on === true ? setupModeSentence : null),
    },
  ],
};
