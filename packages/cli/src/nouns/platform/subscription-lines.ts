/** What a person reads of a subscription. */
import { PlanService } from "../../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import { layText } from "../../output/document.ts";
import { layNamed } from "../../output/lay-table.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { objectTable } from "../../output/table.ts";
import { counted, minuteOf, money } from "../../output/words.ts";
import type { ShownSubscription } from "./shown.ts";

/** What a subscription's plan is called, and what one of its units is called. */
interface Named {
  readonly name: string;
  readonly code: string;
  readonly unit: string;
  readonly units: string;
}

const waits =
  "Its end, or a change of an invoice, waits for the ledger. " +
  "`billing subscriptions preview-break-off` shows which, `break-off` breaks it off.";

/** The addresses in the Temporal UI. They are unset without its setting. */
const workflows = [
  ["Workflows", "workflows_url"],
  ["Failed", "failed_workflows_url"],
  ["Waiting", "waiting_workflows_url"],
] as const;

/** Returns the lines of a subscription: a sentence, and its settings. */
export async function subscriptionLines(json: Json, work: Work): Promise<readonly string[]> {
  const subscription = json as unknown as ShownSubscription;
  const plan = await planOf(work, subscription.plan);
  const { end_after_cycles: cycles, discount_percent: discount } = subscription;
  const rows = objectTable({
    id: subscription.id,
    customer: `${subscription.customer_code}, ${subscription.customer}`,
    plan: plan === null ? subscription.plan : `${plan.code}, ${subscription.plan}`,
    label: orNone(subscription.label),
    "reference of invoices": orNone(subscription.invoice_reference),
    discount: /[1-9]/.test(discount) ? `${Number(discount)} %` : "none",
    ...(subscription.minimum_units > 0 ? { "minimum units": subscription.minimum_units } : {}),
    started: subscription.start_date,
    "current period ends": subscription.renewal_date,
    ends: subscription.end_date ?? (cycles === undefined ? "open" : `after ${cycles} periods`),
    timezone: subscription.timezone,
    created: `${minuteOf(subscription.created)} UTC`,
  });
  const addresses = workflows.flatMap(([name, member]) => {
    const { [member]: address } = json;
    return typeof address === "string" ? [[name, address] as const] : [];
  });
  return [
    ...layText(work.terminal, subscriptionText(subscription, plan)),
    ...(json.waits_for_ledger === true ? layText(work.terminal, waits) : []),
    "",
    ...rows.trimEnd().split("\n"),
    "",
    ...(addresses.length === 0 ? [] : [...layNamed(work.terminal, addresses), ""]),
    "`billing subscriptions upcoming` shows what it bills next, `timeline` what happened to it.",
  ];
}

/** Returns `ACME has 10 seats of Team for NZD 125.00 a month without tax. It renews on …`. */
export function subscriptionText(
  subscription: ShownSubscription,
  plan: Named | null = null,
): string {
  const { customer_code: customer, currency, renewal_value: value, status, units } = subscription;
  const { renewal_date: renewal, start_date: start } = subscription;
  const { end_date: end = renewal } = subscription;
  const of = plan === null ? "" : ` of ${plan.name}`;
  const what =
    units === 0
      ? (plan?.name ?? "a subscription")
      : `${counted(units, plan?.unit || "unit", plan?.units || "units")}${of}`;
  if (status === "ended") return `${customer} had ${what}. The subscription ended on ${end}.`;
  if (status === "complete") return `${customer} had ${what}. It was completed on ${end}.`;
  if (status === "active" && isEnding(subscription))
    return `${customer} has ${what}. It ends on ${end}.`;
  const price = `for ${money(currency, value)} ${intervalOf(subscription)} without tax`;
  if (status === "pending") return `${customer} has ${what} from ${start} on, ${price}.`;
  return `${customer} has ${what} ${price}. It renews on ${renewal}.`;
}

function isEnding({ cancel_at_period_end: isSet, end_date: end }: ShownSubscription): boolean {
  return isSet || end !== undefined;
}

/** Returns the names of a plan. Null if it has none. */
export async function planOf({ connection, request }: Work, id: string): Promise<Named | null> {
  const { organisation = "" } = request;
  const plan = await callJson(connection, PlanService.method.getPlan, { organisation, id });
  const { name, code, unit_labels: labels } = plan;
  if (typeof name !== "string") return null;
  const { singular, plural } = isObject(labels) ? labels : {};
  return { name, code: String(code), unit: String(singular ?? ""), units: String(plural ?? "") };
}

function intervalOf({ interval }: ShownSubscription): string {
  const { unit = "month", count = 1 } = interval ?? {};
  return count === 1 ? `a ${unit}` : `every ${count} ${unit}s`;
}

const orNone = (text: string) => (text === "" ? "none" : text);
