/** Objects that a command accepts by their code or name in place of their id. */
import {
  ChargeService,
  PlanService,
} from "../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { CustomerService } from "../../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { MeterService } from "../../../../src/gen/proto/billing/admin/v1/meters_pb.ts";
import { OperatorService } from "../../../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import type { NameLookup } from "../noun.ts";

/** Finds a plan by its code. */
export const planByCode: NameLookup = { kind: "plan", list: PlanService.method.listPlans };

/** Finds a charge by its code. */
export const chargeByCode: NameLookup = { kind: "charge", list: ChargeService.method.listCharges };

/** Finds a meter by its code. */
export const meterByCode: NameLookup = { kind: "meter", list: MeterService.method.listMeters };

/** Finds a customer by its code. */
export const customerByCode: NameLookup = {
  kind: "customer",
  list: CustomerService.method.listCustomers,
};

/** Finds an operator by its name, or by a part of it. */
export const operatorByName: NameLookup = {
  kind: "operator",
  list: OperatorService.method.listOperators,
  by: "name",
};
