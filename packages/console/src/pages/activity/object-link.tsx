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
};

/** The kind in words, as a link if there is a page. */
export function ObjectLink({ kind, id }: { readonly kind: string; readonly id: string }) {
  const { id: organisation } = useOrganisation();
  const words = kind.replaceAll("_", " ");
  const to = pages[kind] as LinkProps["to"];
  return to === undefined ? (
    <span title={id}>{words}</span>
  ) : (
    <Link {...({ to, params: { organisation, id } } as LinkProps)} title={id}>
      {words}
    </Link>
  );
}
