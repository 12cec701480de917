/** The codes, numbers and ids of the service that fit the word which is being completed. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { EventService } from "../../../../src/gen/proto/billing/admin/v1/events_pb.ts";
import { InvoiceService } from "../../../../src/gen/proto/billing/admin/v1/invoices_pb.ts";
import { OrganisationService } from "../../../../src/gen/proto/billing/admin/v1/organisations_pb.ts";
import { SubscriptionService } from "../../../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { WebhookService } from "../../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import { callJson } from "../call-json.ts";
import { connect } from "../connection.ts";
import type { Noun, Verb } from "../noun.ts";
import { customerByCode, planByCode } from "../nouns/lookups.ts";
import type { Json } from "../output/message-json.ts";
import { listOf } from "../output/words.ts";
import { requestMessage } from "../request-message.ts";
import { withProfile } from "../sign-in/profiles.ts";
import type { Terminal } from "../terminal.ts";

/** A value, with what a person knows it by. */
interface Value {
  readonly value: string;
  readonly description: string;
}

/** The word that is being completed: an option's value, or the argument at a place. */
export interface Word {
  readonly noun: Noun | null;
  readonly verb: Verb;
  /** The proto name of the field. */
  readonly field: string;
  readonly text: string;
  /** The organisation that the line names. */
  readonly organisation: string | undefined;
}

/** Where values are: a list, and the member that is one. */
interface Source {
  readonly list: DescMethodUnary;
  readonly by: string;
}

const subscriptions = { list: SubscriptionService.method.listSubscriptions, by: "id" };
const deliveries = { list: WebhookService.method.listWebhookDeliveries, by: "id" };

/** The sources of fields that have no lookup. */
const sources: Readonly<Record<string, Source>> = {
  subscription: subscriptions,
  organisation: { list: OrganisationService.method.listOrganisations, by: "id" },
  endpoint: { list: WebhookService.method.listWebhookEndpoints, by: "id" },
  document: { list: InvoiceService.method.listInvoices, by: "number" },
  customer_code: { list: customerByCode.list, by: "code" },
  plan_code: { list: planByCode.list, by: "code" },
};

/** The verbs whose `id` is not in the first list of their noun. */
const idSources: Readonly<Record<string, Source>> = {
  GetWebhookDelivery: deliveries,
  ResendWebhookDelivery: deliveries,
  GetEvent: { list: EventService.method.listEvents, by: "id" },
};

/** A person at a keyboard waits no longer. */
const patienceMs = 1_500;

/** Shells expand what they insert, so that a value with other characters could be a command. */
const harmless = /^[\w./@+-]+$/;

/** Returns the values. None if the service cannot be asked, or takes too long. */
export async function valuesFor(terminal: Terminal, word: Word): Promise<readonly Value[]> {
  const source = sourceOf(word);
  if (source === null) return [];
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error("late")), patienceMs).unref();
  });
  return Promise.race([read(terminal, word, source), late]).catch(() => []);
}

function sourceOf({ noun, verb, field }: Word): Source | null {
  const lookup = verb.lookups?.[field];
  if (lookup !== undefined)
    return { list: lookup.list, by: lookup.by === "name" ? "id" : (lookup.by ?? "code") };
  if (field !== "id") return sources[field] ?? null;
  const list = noun?.verbs.find(({ name }) => name === "list")?.method;
  return idSources[verb.method.name] ?? (list === undefined ? null : { list, by: "id" });
}

async function read(around: Terminal, word: Word, { list, by }: Source): Promise<Value[]> {
  const env = await withProfile(around.env, {});
  const connection = await connect({ ...around, env }, {});
  const { organisation = env.BILLING_ORGANISATION, text } = word;
  const has = (name: string) => list.input.fields.some((field) => field.name === name);
  const request: Json = {
    limit: 100,
    ...(has("organisation") && organisation ? { organisation } : {}),
    ...(has("search") && text !== "" ? { search: text } : {}),
  };
  requestMessage(list, request);
  const { data } = await callJson(connection, list, request);
  return listOf(data).flatMap((row) => {
    const value = String(row[by] ?? "");
    return harmless.test(value) ? [{ value, description: describe(row, by) }] : [];
  });
}

/** What a person knows a row by. Characters that a shell could read are left out. */
function describe(row: Json, by: string): string {
  const members = ["number", "code", "name", "customer_code", "label", "url", "type", "status"];
  const texts = members.flatMap((name) => (name === by || !row[name] ? [] : [String(row[name])]));
  return texts
    .slice(0, 3)
    .join(" ")
    .replaceAll(/[^\p{L}\p{N} .,@/_+-]/gu, " ")
    .slice(0, 60);
}
