/** The customer of a new subscription: found by a part of a name, code or e-mail. */
import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link, type LinkProps } from "@tanstack/react-router";
import { useState } from "react";
import { useList } from "../../../data/list.ts";
import { useOrganisation } from "../../../data/organisation.tsx";
import { EmptyState } from "../../../design/page/empty-state.tsx";
import { ErrorState } from "../../../design/page/error-state.tsx";
import { Section, Skeleton } from "../../../design/page/page.tsx";
import { Named } from "../../../design/table/named.tsx";
import { CustomerService } from "../../../gen/billing/admin/v1/customers_pb.ts";
import { type Customer, CustomerStatus } from "../../../gen/billing/v1/customers_pb.ts";
import { Chosen, Offer, Offers } from "./offers.tsx";

/** Shows the customer, or those to choose from. */
export function CustomerChoice({ chosen }: { readonly chosen: Customer | undefined }) {
  return (
    <Section title="Customer">
      {chosen ? (
        <Chosen
          name={chosen.name}
          sub={`${chosen.code} · ${chosen.email}`}
          change={{ customer: undefined }}
          what="customer"
        />
      ) : (
        <Found />
      )}
    </Section>
  );
}

function Found() {
  const { id: organisation } = useOrganisation();
  const [text, setText] = useState("");
  const [search] = useDebouncedValue(text.trim(), 200);
  const list = useList(CustomerService.method.listCustomers, {
    organisation,
    limit: 8,
    status: CustomerStatus.ACTIVE,
    ...(search !== "" && { search }),
  });
  return (
    <>
      <TextInput
        label="Find a customer"
        description="The beginning of a name, company or code"
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {list.error && <ErrorState error={list.error} onAgain={() => void list.refetch()} />}
      {list.isPending && <Skeleton lines={4} />}
      {list.data?.data.length === 0 && (
        <EmptyState
          title={search === "" ? "No active customers yet" : "No active customer begins with this"}
          act={
            <Link to="/o/$organisation/customers" params={{ organisation }}>
              All customers
            </Link>
          }
        />
      )}
      <Offers name="Customers">
        {list.data?.data.map(({ id, name, code }) => (
          <Offer key={id} adds={{ customer: code } as LinkProps["search"]}>
            <div>
              <Named name={name} sub={code} />
            </div>
          </Offer>
        ))}
      </Offers>
      {list.data?.hasMore && <p className="muted">More exist. Type more of the name.</p>}
    </>
  );
}
