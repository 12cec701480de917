/** The name of a customer, by its id. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import { CustomerService } from "../../gen/billing/admin/v1/customers_pb.ts";

/** The name as the link to the customer. Names change seldom, so each is read once. */
export function CustomerName({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  const read = useQuery(
    CustomerService.method.getCustomer,
    { organisation, id },
    { staleTime: 300_000 },
  );
  return (
    <Link to="/o/$organisation/customers/$id" params={{ organisation, id }}>
      {read.data?.customer?.name ?? "…"}
    </Link>
  );
}
