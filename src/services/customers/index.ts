/** CustomerService: lists, retrieves and creates customers. */
import type {
  CustomerService,
  ListCustomersRequest,
} from "../../gen/proto/billing/v1/customers_pb.ts";
import { customerStatuses, wordOf } from "../../present/enums.ts";
import { presentCustomer } from "../../present/objects.ts";
import type { CustomerFilters } from "../../store/customers/customers.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { Deps } from "../deps.ts";
import { getObject, listMethod } from "../reading.ts";
import { createCustomer } from "./create.ts";

/**
 * Returns the implementation of CustomerService. Refuses `customer_not_found`. Creation refuses as
 * `createCustomer` does.
 */
export function customerService(deps: Deps): Implementation<typeof CustomerService> {
  const get = getObject(deps, ({ customers }) => customers, "customer_not_found");
  return {
    listCustomers: listMethod(deps, ({ customers }) => customers, filtersOf, presentCustomer),
    getCustomer: async ({ id }, call) => ({ customer: presentCustomer(await get(id, call)) }),
    createCustomer: createCustomer(deps),
  };
}

function filtersOf(request: ListCustomersRequest): CustomerFilters {
  return {
    code: request.code ?? null,
    email: request.email ?? null,
    status: wordOf(customerStatuses, request.status),
  };
}
