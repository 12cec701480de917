/**
 * The demo ledger's admin routes, which Xero does not have: create an organisation, record a
 * payment, add faults. They have no credentials, so the server listens on the loopback address by
 * default. They require a JSON content type, which a web page cannot send across origins without
 * permission.
 */
import type pg from "pg";
import {
  type ExactObject,
  filledTextOf,
  objectOf,
  readExactJson,
} from "../../../src/ledger/port/exact-json.ts";
import { answerFaults, numberOf, refusal } from "./admin-faults.ts";
import { type DemoAnswer, jsonAnswer } from "./api/answers.ts";
import { mergeContact } from "./api/contact-merges.ts";
import { isUuid } from "./api/contact-rows.ts";
import type { LimitBook } from "./api/limits.ts";
import { answerByHand } from "./by-hand.ts";
import { inTransaction } from "./database.ts";
import { recordPayment } from "./documents/payments.ts";
import type { FaultBook } from "./faults.ts";
import { newestDocuments } from "./ledger-documents.ts";
import type { AppBook } from "./oauth/apps.ts";
import { type DemoTenant, setWebhook, type TenantBook } from "./tenants.ts";
import { intentToReceive, type WebhookTarget } from "./webhooks.ts";

/** What the admin routes work on. `faults` is null if faults are switched off. */
export interface AdminDependencies {
  readonly pool: pg.Pool;
  readonly tenants: TenantBook;
  readonly apps: AppBook;
  readonly limits: LimitBook;
  readonly faults: FaultBook | null;
}

/** One request below `/demo`. */
interface AdminRequest {
  readonly method: string;
  readonly segments: readonly string[];
  readonly contentType: string;
  readonly text: string;
}

/**
 * Answers the routes below. For changes by hand see `answerByHand`.
 * - `POST /demo/tenants`
 * - `POST /demo/tenants/{id}/invoices/{id}/payments`
 * - `POST /demo/tenants/{id}/contacts/{id}/merge`
 * - `POST /demo/tenants/{id}/webhook`, and `POST /demo/webhook` for all organisations
 * - `POST /demo/apps`, `POST /demo/apps/{clientId}/revoke`, `GET /demo/apps/{clientId}/refreshes`
 * - `GET|POST|DELETE /demo/faults`
 * - `GET /demo/tenants/{id}/calls`: how many calls were admitted and rejected by a limit since the
 *   start
 * - `GET /demo/documents` and `GET /demo/tenants/{id}/documents`: the whole content of the page
 */
export async function answerAdmin(
  parts: AdminDependencies,
  request: AdminRequest,
): Promise<DemoAnswer> {
  const isPost = request.method === "POST";
  if (isPost && !/^application\/json\b/i.test(request.contentType))
    return refusal(415, "Send application/json.");
  const body = isPost ? objectOf(readExactJson(request.text)) : {};
  if (!body) return refusal(400, "The body is not a JSON object.");
  const [resource, tenantId = "", second, partId = "", third] = request.segments;
  if (resource === "faults" && request.segments.length === 1)
    return answerFaults(parts.faults, request.method, body);
  if (resource === "apps") return answerApps(parts.apps, request, body);
  if (request.method === "GET" && resource === "documents" && request.segments.length === 1)
    return pageContent(parts, null);
  if (isPost && resource === "webhook" && request.segments.length === 1) {
    return putWebhook(body, (target) =>
      target ? parts.tenants.sendAllWebhooks(target) : Promise.resolve(),
    );
  }
  if (
    resource === "tenants" &&
    request.method === "GET" &&
    second === "calls" &&
    request.segments.length === 3
  ) {
    return jsonAnswer(200, parts.limits.counts(tenantId));
  }
  if (
    resource === "tenants" &&
    request.method === "GET" &&
    second === "documents" &&
    request.segments.length === 3
  ) {
    return isUuid(tenantId)
      ? pageContent(parts, tenantId)
      : refusal(404, "There is no such route.");
  }
  if (resource !== "tenants" || !isPost) return refusal(404, "There is no such route.");
  if (request.segments.length === 1) return putTenant(parts.tenants, body);
  if (!isUuid(tenantId)) return refusal(404, "There is no such route.");
  if (second === "webhook" && request.segments.length === 3) {
    return putWebhook(body, (target) => setWebhook(parts.pool, tenantId, target));
  }
  if (second === "invoices" && third === "payments" && isUuid(partId))
    return pay(parts.pool, tenantId, partId, body);
  if (second === "contacts" && third === "merge" && isUuid(partId))
    return merge(parts.pool, tenantId, partId, body);
  const tenant = await parts.tenants.byId(tenantId);
  const done = tenant && (await answerByHand(parts.pool, tenant, request.segments.slice(2)));
  return done ?? refusal(404, "There is no such route.");
}

/**
 * Returns the page's content with the pending faults. `faults` is null if they are switched off.
 */
async function pageContent(
  { pool, faults }: AdminDependencies,
  tenantId: string | null,
): Promise<DemoAnswer> {
  const waiting = faults?.waiting().map(({ fault, left }) => ({ ...fault, left })) ?? null;
  return jsonAnswer(200, { ...(await newestDocuments(pool, tenantId)), faults: waiting });
}

async function answerApps(
  apps: AppBook,
  { method, segments }: AdminRequest,
  body: ExactObject,
): Promise<DemoAnswer> {
  const [, clientId = "", action] = segments;
  if (method === "GET" && action === "refreshes")
    return jsonAnswer(200, { refreshes: await apps.refreshes(clientId) });
  if (method === "POST" && action === "revoke") {
    await apps.revoke(clientId);
    return jsonAnswer(200, { clientId });
  }
  if (method !== "POST" || segments.length !== 1) return refusal(404, "There is no such route.");
  const [id, clientSecret, name] = [body.clientId, body.clientSecret, body.name].map(filledTextOf);
  const redirectUrls = Array.isArray(body.redirectUrls) ? body.redirectUrls.map(String) : [];
  if (
    id === undefined ||
    clientSecret === undefined ||
    name === undefined ||
    !redirectUrls.every((url) => URL.canParse(url))
  ) {
    return refusal(400, "clientId, clientSecret, name and redirectUrls are required.");
  }
  // The same lifetimes as Xero's (XERO-12).
  const lives = {
    accessSeconds: numberOf(body.accessSeconds, 1_800),
    graceSeconds: numberOf(body.graceSeconds, 1_800),
    refreshSeconds: numberOf(body.refreshSeconds, 60 * 86_400),
  };
  await apps.put({ clientId: id, clientSecret, name, redirectUrls, ...lives });
  return jsonAnswer(200, { clientId: id, name, redirectUrls, ...lives });
}

async function putTenant(tenants: TenantBook, body: ExactObject): Promise<DemoAnswer> {
  const tenantId = filledTextOf(body.tenantId) ?? null;
  const [name, clientId, clientSecret] = [body.name, body.clientId, body.clientSecret].map(
    filledTextOf,
  );
  const currency = filledTextOf(body.currency) ?? "GBP";
  const timezone = filledTextOf(body.timezone) ?? "UTC";
  const periodLockDate = filledTextOf(body.periodLockDate) ?? null;
  if (name === undefined || clientId === undefined || clientSecret === undefined) {
    return refusal(400, "name, clientId and clientSecret are required.");
  }
  if (tenantId !== null && !isUuid(tenantId)) return refusal(400, "tenantId is not a UUID.");
  if (!/^[A-Z]{3}$/.test(currency)) return refusal(400, "currency is not a currency code.");
  if (!isTimezone(timezone)) return refusal(400, "timezone is not an IANA time zone.");
  if (periodLockDate !== null && !/^\d{4}-\d{2}-\d{2}$/.test(periodLockDate)) {
    return refusal(400, "periodLockDate is not a date.");
  }
  const foldsNumbers = body.foldsNumbers === true;
  const draft = {
    tenantId,
    name,
    currency,
    timezone,
    clientId,
    clientSecret,
    periodLockDate,
    foldsNumbers,
  };
  const tenant = await tenants.put(draft);
  return tenant
    ? jsonAnswer(200, presentTenant(tenant))
    : refusal(409, "Another organisation has this clientId.");
}

async function pay(
  pool: pg.Pool,
  tenantId: string,
  invoiceId: string,
  body: ExactObject,
): Promise<DemoAnswer> {
  const paidOn = filledTextOf(body.date) ?? new Date().toISOString().slice(0, 10);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(paidOn)) return refusal(400, "date is not a date.");
  const amount = filledTextOf(body.amount) ?? null;
  const paid = await inTransaction(pool, (client) =>
    recordPayment(client, tenantId, invoiceId, amount, paidOn),
  );
  switch (paid.kind) {
    case "paid":
      return jsonAnswer(200, {
        paymentId: paid.paymentId,
        status: paid.status,
        amountDue: paid.amountDue,
      });
    case "not_found":
      return refusal(404, "There is no such invoice.");
    case "refused":
      return refusal(400, paid.message);
  }
}

/**
 * Sets the address of the organisation's webhooks. Without `url` none are sent. The address is
 * checked first with an intent to receive, as Xero does.
 */
async function putWebhook(
  body: ExactObject,
  save: (target: WebhookTarget | null) => Promise<void>,
): Promise<DemoAnswer> {
  const [url, key] = [body.url, body.key].map(filledTextOf);
  if (url === undefined) {
    await save(null);
    return jsonAnswer(200, { url: null });
  }
  if (!URL.canParse(url) || key === undefined) return refusal(400, "url and key are required.");
  const fault = await intentToReceive({ url, key });
  if (fault !== null) return refusal(400, `Intent to receive: ${fault}`);
  await save({ url, key });
  return jsonAnswer(200, { url });
}

async function merge(
  pool: pg.Pool,
  tenantId: string,
  contactId: string,
  body: ExactObject,
): Promise<DemoAnswer> {
  const into = filledTextOf(body.into) ?? "";
  if (!isUuid(into) || into === contactId)
    return refusal(400, "into is not the id of another contact.");
  const isMerged = await mergeContact(pool, tenantId, contactId, into);
  return isMerged
    ? jsonAnswer(200, { mergedInto: into })
    : refusal(404, "There are no two such active contacts.");
}

function presentTenant(tenant: DemoTenant): object {
  const { tenantId, name, currency, timezone, clientId, periodLockDate, foldsNumbers } = tenant;
  return { tenantId, name, currency, timezone, clientId, periodLockDate, foldsNumbers };
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
