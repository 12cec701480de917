/** All fields of a subscription, as the API gives them. */
import { toJson } from "@bufbuild/protobuf";
import { FactList } from "../../design/page/facts.tsx";
import { Card, Section } from "../../design/page/page.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { type Subscription, SubscriptionSchema } from "../../gen/billing/v1/subscriptions_pb.ts";
import { Json } from "../activity/json.tsx";

/** Shows the ids to copy, and the whole object. */
export function Fields({ subscription }: { readonly subscription: Subscription }) {
  const { id, customer, plan, timezone, created, invoiceReference } = subscription;
  const json = toJson(SubscriptionSchema, subscription, { useProtoFieldName: true });
  return (
    <>
      <Section title="Ids">
        <Card>
          <FactList
            facts={[
              ["Subscription", <Copyable key="id" text={id} what="subscription id" />],
              ["Customer", <Copyable key="customer" text={customer} what="customer id" />],
              ["Plan", <Copyable key="plan" text={plan} what="plan id" />],
              ["Time zone", timezone],
              ["Reference on invoices", invoiceReference === "" ? "–" : invoiceReference],
              ["Created", <Instant key="created" at={created} />],
            ]}
          />
        </Card>
      </Section>
      <Section title="As the API gives it">
        <Json text={JSON.stringify(json)} name="JSON of the subscription" />
      </Section>
    </>
  );
}
