/**
 * A platform that sells seats: a team is a customer with one subscription, and its seats are the
 * subscription's units. The platform's pages call this server. Its API key stays here.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  type ChangeUnitsRequest,
  createBillingClient,
  isBillingError,
  type Subscription,
} from "@subscription-billing/client";

const billing = createBillingClient({
  baseUrl: process.env.BILLING_URL,
  apiKey: process.env.BILLING_API_KEY,
  onRetry: ({ method, error }) => console.error(`${method} again: ${error.message}`),
});
const plan = process.env.BILLING_PLAN ?? "team";

/** What a page orders: seats, and the id of the order. */
interface Order {
  readonly id: string;
  readonly seats: number;
}

/** A real platform has the id of the subscription in its database. */
async function subscriptionOf(team: string): Promise<Subscription> {
  for await (const subscription of billing.listSubscriptions({ customer_code: team }))
    if (["pending", "active"].includes(subscription.status)) return subscription;
  throw new Refusal(404, `${team} has no subscription`);
}

/** Sells the first seats. The key is the order's, so that a second click sells nothing more. */
async function signUp(team: string, { id, seats }: Order) {
  const { invoice, ...subscription } = await billing.createSubscription(
    { customer_code: team, plan_code: plan, units: seats },
    { idempotencyKey: `order-${id}` },
  );
  // In Setup Mode there is no invoice. Without a problem the ledger has it, or gets it later.
  const problem = invoice?.ledger.sync_error ?? null;
  return { ...summary(subscription), invoice: invoice?.number ?? null, problem };
}

function summary({ units, status, renewal_date, cancel_at_period_end }: Subscription) {
  return { seats: units, status, ends: cancel_at_period_end, renews: renewal_date };
}

/** What a team has, and what it still has to pay. */
async function show(team: string) {
  const subscription = await subscriptionOf(team);
  const open = [];
  for await (const { number, amount_due, due_date } of billing.listInvoices({
    subscription: subscription.id,
    status: ["draft", "awaiting_approval", "approved"],
  }))
    open.push({ number, amount_due, due_date });
  return { ...summary(subscription), open };
}

/** Seats are charged for the rest of the period, from today on in the team's timezone. */
async function changeOf(team: string, seats: number): Promise<ChangeUnitsRequest> {
  const { id, units, timezone } = await subscriptionOf(team);
  if (seats < units) return { id, units: seats };
  // Sweden writes days as the API does: 2026-03-01.
  const today = new Date().toLocaleDateString("sv-SE", { timeZone: timezone });
  return { id, units: seats, prorate: true, effective_date: today };
}

/** Says what a change would cost, before anybody orders it. All amounts are without tax. */
async function quote(team: string, seats: number) {
  const preview = await billing.previewChangeUnits(await changeOf(team, seats));
  const { issued_invoices, amended_invoices, upcoming_invoice } = preview;
  return {
    new_invoices: issued_invoices.map(({ subtotal, currency }) => `${subtotal} ${currency}`),
    changed_invoices: amended_invoices.map(({ number, subtotal }) => `${number}: ${subtotal}`),
    renewal: upcoming_invoice?.subtotal ?? null,
  };
}

async function change(team: string, { id, seats }: Order) {
  const request = await changeOf(team, seats);
  return summary(await billing.changeUnits(request, { idempotencyKey: `order-${id}` }));
}

/** The seats stay until the period that is paid for is over. */
async function cancel(team: string) {
  const { id } = await subscriptionOf(team);
  return summary(await billing.endSubscription({ id, when: "period_end" }));
}

/** What this server answers instead of a result. */
class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://platform");
  const [, team = "", action = ""] = /^\/teams\/([\w-]+)(\/quote)?$/.exec(pathname) ?? [];
  const orderOf = async () => JSON.parse(await text(request)) as Order;
  if (team === "") throw new Refusal(404, "There is no such page");
  if (action !== "") return quote(team, Number(searchParams.get("seats")));
  if (request.method === "POST") return signUp(team, await orderOf());
  if (request.method === "PUT") return change(team, await orderOf());
  if (request.method === "DELETE") return cancel(team);
  return show(team);
}

/** The types of errors whose reason is the order. */
const forCustomers = /^(?:conflict|not_found|invalid_request_error)$/;

const server = createServer(async (request, response) => {
  const send = (status: number, body: unknown) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  try {
    send(200, await answer(request));
  } catch (error) {
    if (error instanceof Refusal) return send(error.status, { message: error.message });
    if (isBillingError(error) && forCustomers.test(error.type ?? ""))
      return send(409, { code: error.code, message: error.message });
    console.error(error);
    return send(502, { message: "Please try again later" });
  }
});
server.listen(Number(process.env.PORT ?? 9100), "127.0.0.1", () =>
  console.log(`listening on ${(server.address() as AddressInfo).port}`),
);
