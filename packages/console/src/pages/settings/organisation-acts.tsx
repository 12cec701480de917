/** Creates an organisation, and changes its settings. */
import { useNavigate } from "@tanstack/react-router";
import { Act } from "../../forms/act.tsx";
import { type Field, isTicked, type Values, wholeOf } from "../../forms/fields.tsx";
import {
  FirstInvoiceStatus,
  type Organisation,
  OrganisationService,
} from "../../gen/billing/admin/v1/organisations_pb.ts";

const method = OrganisationService.method;

const zones = Intl.supportedValuesOf("timeZone");

/** What is asked first: the rest has values that suit, and can be changed later. */
function firstFields(organisation?: Organisation): Field[] {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const zone = organisation?.timezone ?? timeZone;
  return [
    {
      name: "name",
      label: "Name",
      initial: organisation?.name,
      about: "The business that sends the invoices.",
    },
    {
      name: "timezone",
      label: "Time zone",
      initial: zone,
      about: "Its days begin and end in it.",
      choices: [...new Set([zone, ...zones])].map((each) => [each, each.replaceAll("_", " ")]),
    },
    {
      name: "default_currency",
      label: "Currency of new plans",
      initial: organisation?.defaultCurrency ?? "EUR",
      about: "Three letters, such as EUR.",
      max: 3,
    },
  ];
}

const firstStatuses = [
  [FirstInvoiceStatus.DRAFT, "a draft, which a person approves in the ledger"],
  [FirstInvoiceStatus.AWAITING_APPROVAL, "awaiting approval in the ledger"],
  [FirstInvoiceStatus.APPROVED, "approved at once"],
] as const;

const furtherFields = (organisation: Organisation): Field[] => [
  {
    name: "invoice_create_days",
    label: "Days before a renewal at which its invoice is made",
    kind: "whole",
    initial: String(organisation.invoiceCreateDays),
  },
  {
    name: "first_invoice_status",
    label: "A first invoice is",
    initial: String(organisation.firstInvoiceStatus),
    choices: firstStatuses.map(([value, words]) => [String(value), words]),
  },
  {
    name: "due_days",
    label: "Days until an invoice is due",
    kind: "whole",
    initial: String(organisation.dueDays),
  },
  {
    name: "number_prefix",
    label: "Numbers begin with",
    initial: organisation.numberPrefix,
    isOptional: true,
    max: 20,
  },
  {
    name: "can_create_ledger_contacts",
    label: "The platform may create contacts in the ledger",
    kind: "box",
    initial: organisation.canCreateLedgerContacts ? "yes" : "",
  },
  {
    name: "usage_allowed",
    label: "Usage may be reported",
    kind: "box",
    initial: organisation.usageAllowed ? "yes" : "",
  },
];

function firstMembers({ name = "", timezone = "", default_currency = "" }: Values) {
  return { name, timezone, defaultCurrency: default_currency.trim().toUpperCase() };
}

/** Creates an organisation, and opens its overview, which says what comes next. */
export function CreateOrganisation({ isFirst = false }: { readonly isFirst?: boolean }) {
  const navigate = useNavigate();
  return (
    <Act
      label={isFirst ? "Create the first organisation" : "New organisation"}
      title="New organisation"
      method={method.createOrganisation}
      isPrimary={isFirst}
      fields={[
        ...firstFields(),
        {
          name: "livemode",
          label: "What it is for",
          choices: [
            ["sandbox", "To try: a sandbox, whose clock can be advanced"],
            ["live", "To bill real customers"],
          ],
        },
      ]}
      request={(values) => ({
        ...firstMembers(values),
        livemode: values.livemode === "live",
        // Without a platform yet, customers and usage of a sandbox come from whoever tries it.
        ...(values.livemode === "sandbox" && {
          usageAllowed: true,
          canCreateLedgerContacts: true,
        }),
      })}
      effect={({ name }) => (name?.trim() ? `Create ${name.trim()}` : "Create the organisation")}
      about={
        "An organisation has its customers, plans and ledger. What is chosen here can " +
        "be changed later, except whether it is a sandbox."
      }
      done={({ organisation }) => `${organisation?.name} was created`}
      onDone={({ organisation }) =>
        organisation &&
        navigate({ to: "/o/$organisation/overview", params: { organisation: organisation.id } })
      }
    />
  );
}

/** Changes the settings. */
export function UpdateOrganisation({ organisation }: { readonly organisation: Organisation }) {
  return (
    <Act
      label="Edit"
      title="Edit the settings"
      method={method.updateOrganisation}
      fields={[...firstFields(organisation), ...furtherFields(organisation)]}
      request={(values) => ({
        id: organisation.id,
        ...firstMembers(values),
        invoiceCreateDays: wholeOf(values, "invoice_create_days"),
        firstInvoiceStatus: Number(values.first_invoice_status) as FirstInvoiceStatus,
        dueDays: wholeOf(values, "due_days"),
        numberPrefix: (values.number_prefix ?? "").trim(),
        canCreateLedgerContacts: isTicked(values, "can_create_ledger_contacts"),
        usageAllowed: isTicked(values, "usage_allowed"),
      })}
      effect="Save the settings"
      about="They hold for what is billed from now on."
      done="The settings were saved"
    />
  );
}
