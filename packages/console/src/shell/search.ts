/** What a text of the palette finds: ids, numbers, codes, e-mails and labels, by their indexes. */
import { useQuery } from "@connectrpc/connect-query";
import { useDeferredValue } from "react";
import { useOrganisation } from "../data/organisation.tsx";
import type { IconName } from "../design/icons.tsx";
import { SearchedBy, SearchService } from "../gen/billing/admin/v1/search_pb.ts";
import type { Place } from "./palette.tsx";

/** Where the objects of each kind are, and their icon. */
const places: Readonly<Record<string, readonly [path: string, icon: IconName]>> = {
  subscription: ["subscriptions", "subscriptions"],
  customer: ["customers", "customers"],
  plan: ["plans", "plans"],
  invoice: ["invoices", "invoices"],
  credit_note: ["credit-notes", "credits"],
  event: ["activity", "activity"],
  webhook_endpoint: ["webhooks", "webhooks"],
  webhook_delivery: ["webhooks/deliveries", "webhooks"],
};

/** Finds objects of the organisation that have a page. Undefined until the service answers. */
export function useFound(typed: string): readonly Place[] | undefined {
  const { id: organisation } = useOrganisation();
  const text = useDeferredValue(typed.trim());
  const enabled = text.length > 1;
  const { data } = useQuery(SearchService.method.search, { text, organisation }, { enabled });
  if (!enabled) return [];
  return data?.hits.flatMap(({ by, objectKind, objectId, label, matched }): Place[] => {
    const [path, icon] = places[objectKind] ?? [];
    if (path === undefined || icon === undefined) return [];
    const there = by === SearchedBy.LEDGER_NUMBER ? `in the ledger ${matched}` : matched;
    const kind = [there, objectKind.replaceAll("_", " ")].filter(Boolean).join(" · ");
    return [{ path: `${path}/${objectId}`, label: label || objectId, kind, icon }];
  });
}
