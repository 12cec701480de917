/** What can be done with a customer. */
import { useOrganisation } from "../../data/organisation.tsx";
import { Act } from "../../forms/act.tsx";
import { CustomerService } from "../../gen/billing/admin/v1/customers_pb.ts";
import { type Customer, CustomerStatus } from "../../gen/billing/v1/customers_pb.ts";

const method = CustomerService.method;

/** The acts of its page. */
export function CustomerActs({ customer }: { readonly customer: Customer }) {
  const { id: organisation } = useOrganisation();
  const { id, name, code, status } = customer;
  const request = () => ({ organisation, id });
  return (
    <>
      {status === CustomerStatus.ACTIVE ? (
        <Act
          label="Deactivate"
          title={`Deactivate ${name}`}
          method={method.deactivateCustomer}
          request={request}
          effect="Deactivate the customer"
          about={
            "It gets no new subscriptions, and ended ones cannot be restored. Those that " +
            "it has go on."
          }
          done={`${name} was deactivated`}
        />
      ) : (
        <Act
          label="Activate"
          title={`Activate ${name}`}
          method={method.activateCustomer}
          request={request}
          effect="Activate the customer"
          about="It can have new subscriptions again."
          done={`${name} was activated`}
        />
      )}
      <Act
        label="Erase"
        title={`Erase ${name}`}
        method={method.eraseCustomer}
        isDangerous
        typed={{ text: code, what: "customer's code" }}
        request={request}
        effect="Erase the personal data"
        about={
          "Name, e-mail and everything else that says who it is are removed here for " +
          "good. Documents stay, with their amounts. The ledger's contact is not touched."
        }
        done="The personal data was erased"
      />
    </>
  );
}
