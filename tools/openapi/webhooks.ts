/**
 * The webhooks of the document: for each kind of event the request that an endpoint receives
 * (WEBHOOK-1).
 */
import type { DescMessage, JsonObject, Registry } from "@bufbuild/protobuf";
import {
  type EventType,
  eventTypes,
  type ObjectKind,
  testEventType,
} from "../../src/domain/events/event.ts";
import type { Refer } from "./field-schema.ts";
import { responseExample, responseSchema } from "./message-schema.ts";

/** The tag of the webhooks, with its description. */
export const webhookTag = {
  name: "webhooks",
  description:
    "What is sent to the endpoints that were registered in the application, when something has " +
    "changed.",
};

const messages: Readonly<Record<ObjectKind, string>> = {
  customer: "billing.v1.Customer",
  subscription: "billing.v1.Subscription",
  invoice: "billing.v1.Invoice",
  credit_note: "billing.v1.CreditNote",
};

/** When each kind is published. A kind without a line does not compile. */
const occasions: Readonly<Record<EventType, string>> = {
  "customer.created": "A customer was imported from the ledger, or created.",
  "customer.updated": "Something of a customer changed, here or with its contact in the ledger.",
  "customer.deleted":
    "Can be asked for and is never sent: customers become inactive, which is an update.",
  "subscription.created": "A subscription was created.",
  "subscription.updated":
    "A subscription changed: its units; it began, renewed, is to end with its period, or was " +
    "restored.",
  "subscription.ended": "A subscription ended, or completed.",
  "subscription.restored": "Can be asked for and is never sent: a restoration is an update.",
  "subscription.deleted": "Can be asked for and is never sent: subscriptions end.",
  "invoice.created": "An invoice was issued.",
  "invoice.updated":
    "Something of an invoice changed: lines, approval, a part of it paid or credited, whether " +
    "the ledger has it.",
  "invoice.paid": "An invoice was paid in the ledger.",
  "invoice.voided": "An invoice was voided, by an operation here or in the ledger.",
  "invoice.deleted": "An invoice was deleted, by an operation here or in the ledger.",
  "credit_note.created": "A credit note was issued.",
  "credit_note.updated":
    "Something of a credit note changed: credit was applied or taken back, or whether the " +
    "ledger has it.",
  "credit_note.voided": "A credit note was voided in the ledger.",
  "credit_note.deleted": "A credit note was deleted in the ledger.",
};

const signature: JsonObject = {
  name: "Billing-Signature",
  in: "header",
  required: true,
  description:
    "`t=<unix seconds>,v1=<hex>`, created again for each attempt; two `v1` for 24 hours after " +
    "a rotation of the signing secret.",
  schema: { type: "string", pattern: "^t=[0-9]+(,v1=[0-9a-f]{64}){1,2}$" },
  example: `t=1772366400,v1=${"5f".repeat(32)}`,
};

const responses: JsonObject = {
  "2XX": { description: "Taken. The body of the answer is not used." },
  "410": { description: "The endpoint is gone: it is disabled, and sent nothing more." },
  default: { description: "Not taken, redirects included: sent again, for about 20 hours." },
};

/** Returns the webhooks by the kind of event. `refer` adds the schemas that they need. */
export function webhooksObject(registry: Registry, refer: Refer): JsonObject {
  const event = messageOf(registry, "billing.v1.Event");
  const data = messageOf(registry, "billing.v1.EventData");
  // A handler of all kinds uses the schema Event. A handler of one kind uses its webhook's schema.
  refer(event, "response");
  const entry = (
    type: string,
    words: string,
    object: JsonObject,
    example: JsonObject,
  ): JsonObject => {
    const schema = withMembers(responseSchema(event, refer), `An \`Event\`. ${words}`, {
      type: { type: "string", const: type },
      data: withMembers(responseSchema(data, refer), "What it happened to.", { object }),
    });
    const isNew = type.endsWith(".created") || type === testEventType;
    const shown = {
      ...responseExample(event),
      type,
      sequence: isNew ? 1 : 2,
      data: { object: example, previous_attributes: isNew ? null : {} },
    };
    return {
      post: {
        operationId: `on-${type.replaceAll(/[._]/g, "-")}`,
        tags: [webhookTag.name],
        summary: words.split(/[:,.]/, 1)[0] ?? words,
        description: words,
        // A delivery has a signature (WEBHOOK-1). No key of this interface applies to it.
        security: [],
        parameters: [signature],
        requestBody: {
          required: true,
          content: { "application/json": { schema, example: shown } },
        },
        responses,
      },
    };
  };
  const entries = eventTypes.map((type): [string, JsonObject] => {
    const message = messageOf(registry, messages[type.slice(0, type.indexOf(".")) as ObjectKind]);
    return [
      type,
      entry(type, occasions[type], refer(message, "response"), responseExample(message)),
    ];
  });
  return {
    ...Object.fromEntries(entries),
    [testEventType]: entry(testEventType, testWords, testObject, testExample),
  };
}

const testWords = "An operator asked for a test event, whatever kinds the endpoint takes.";

const testObject: JsonObject = {
  type: "object",
  description: "The endpoint that it is sent to.",
  properties: {
    id: { type: "string", format: "uuid" },
    object: { type: "string", const: "webhook_endpoint" },
  },
  required: ["id", "object"],
};

const testExample = { id: "01a20019-0a62-7a77-a13e-a0d2995a889b", object: "webhook_endpoint" };

type Members = Readonly<Record<string, JsonObject>>;

/** Replaces the description and these members, without `allOf`, which generators misread. */
function withMembers(schema: JsonObject, words: string, members: Members): JsonObject {
  const properties = { ...(schema.properties as Record<string, JsonObject>), ...members };
  return { ...schema, description: words, properties };
}

function messageOf(registry: Registry, name: string): DescMessage {
  const message = registry.getMessage(name);
  if (message === undefined) throw new Error(`the contract has no ${name}`);
  return message;
}
