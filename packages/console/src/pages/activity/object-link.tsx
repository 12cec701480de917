/** The object of an event or of an audit entry, as the link to its page. */
import { Link, type LinkProps } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";

/** The pages of the kinds that have one. */
const pages: Readonly<Record<string, string>> = {
  subscription: "/o/$organisation/subscriptions/$id",
  invoice: "/o/$organisation/invoices/$id",
  credit_note: "/o/$organisation/credit-notes/$id",
  customer: "/o/$organisation/customers/$id",
  plan: "/o/$organisation/plans/$id",
  webhook_endpoint: "/o/$organisation/webhooks/$id",
  webhook_delivery: "/o/$organisation/webhooks/deliveries/$id",
  event: "/o/$organisation/activity/$id",
  ledger_connection: "/o/$organisation/ledger",
  unknown_document: "/o/$organisation/ledger",
  organisation: "/o/$organisation/organisation",
};

interface ObjectLinkProps {
  readonly kind: string;
  readonly id: string;
  /** What a person knows it by. The kind if left out. */
  readonly label?: string;
  /** Whether the keys for rows find it. */
  readonly isRow?: boolean;
}

/** The object in words, as a link if there is a page. */
export function ObjectLink({ kind, id, label, isRow = false }: ObjectLinkProps) {
  const { id: organisation } = useOrganisation();
  const words = label ?? kind.replaceAll("_", " ");
  const to = pages[kind] as LinkProps["to"];
  return to === undefined ? (
    <span title={id}>{words}</span>
  ) : (
    <Link
      {...({ to, params: { organisation, id } } as LinkProps)}
      title={id}
      {...(isRow && { "data-row-link": true })}
    >
      {words}
    </Link>
  );
}
