/** What a text of the palette finds: exactly, because lists are searched by their indexes. */
import { useQuery } from "@connectrpc/connect-query";
import { useDeferredValue } from "react";
import { useOrganisation } from "../data/organisation.tsx";
import { CustomerService } from "../gen/billing/admin/v1/customers_pb.ts";
import { InvoiceService } from "../gen/billing/admin/v1/invoices_pb.ts";
import type { Place } from "./palette.tsx";

/** Finds invoices by number and customers by code. */
export function useFound(typed: string): readonly Place[] {
  const { id: organisation } = useOrganisation();
  const text = useDeferredValue(typed.trim());
  const enabled = text.length > 1;
  const few = { organisation, limit: 3 };
  const invoices = useQuery(
    InvoiceService.method.listInvoices,
    { ...few, number: text },
    { enabled },
  );
  const customers = useQuery(
    CustomerService.method.listCustomers,
    { ...few, code: text },
    { enabled },
  );
  if (!enabled) return [];
  return [
    ...(invoices.data?.data ?? []).map(
      ({ id, number }): Place => ({
        path: `invoices/${id}`,
        label: number,
        kind: "invoice",
        icon: "invoices",
      }),
    ),
    ...(customers.data?.data ?? []).map(
      ({ id, name, code }): Place => ({
        path: `customers/${id}`,
        label: `${name} (${code})`,
        kind: "customer",
        icon: "customers",
      }),
    ),
  ];
}
