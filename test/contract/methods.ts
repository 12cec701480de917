/** Every method of the contract, by its services. */
import type { DescFile, DescMethod } from "@bufbuild/protobuf";
import { file_billing_v1_catalogue } from "../../src/gen/proto/billing/v1/catalogue_pb.ts";
import { file_billing_v1_credit_notes } from "../../src/gen/proto/billing/v1/credit_notes_pb.ts";
import { file_billing_v1_customers } from "../../src/gen/proto/billing/v1/customers_pb.ts";
import { file_billing_v1_invoices } from "../../src/gen/proto/billing/v1/invoices_pb.ts";
import { file_billing_v1_organisation } from "../../src/gen/proto/billing/v1/organisation_pb.ts";
import { file_billing_v1_subscriptions } from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { file_billing_v1_usage } from "../../src/gen/proto/billing/v1/usage_pb.ts";

const files: readonly DescFile[] = [
  file_billing_v1_organisation,
  file_billing_v1_customers,
  file_billing_v1_catalogue,
  file_billing_v1_subscriptions,
  file_billing_v1_invoices,
  file_billing_v1_credit_notes,
  file_billing_v1_usage,
];

/** The methods that the specification's operations are. */
export const methods: readonly DescMethod[] = files.flatMap(({ services }) =>
  services.flatMap((service) => service.methods),
);
