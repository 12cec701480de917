/**
 * The places of Xero: the demo ledger, and a Xero Demo Company if its credentials are in the
 * environment. The Demo Company is used within its limits, cleaned up afterwards, and never in CI.
 */
import { setTimeout as wait } from "node:timers/promises";
import {
  aCall,
  type DemoLedgerFixture,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { Body, Element, Sent } from "../../../packages/demo-ledger/test/request.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import type { CallBudget, Ledger, LedgerAnswer } from "../../../src/ledger/port/ledger.ts";
import { addressesAt, xeroAddresses } from "../../../src/ledger/xero/auth/app.ts";
import { type XeroConnection, xeroScopes } from "../../../src/ledger/xero/wire/connection.ts";
import type { ConformancePlace, XeroPlace } from "./places.ts";

/** What Xero does, and the memory ledger. */
export const asXero = {
  areNamesUnique: true,
  marksCustomers: true,
  lineAmounts: ["exclusive", "inclusive", "none"],
} as const;

/** Opens a new organisation of the demo ledger. */
export async function openDemoLedger(fixture: DemoLedgerFixture): Promise<XeroPlace> {
  const connection = await fixture.connect();
  const organisation = { name: "Test Ltd", currency: "GBP", periodLockDate: null };
  const another = async () => ledgers.xero.connect(await fixture.connect(), {});
  return openPlace(connection, { organisation, another, gapMs: 0, isKept: true });
}

/** Returns why no Xero Demo Company is called, or null if one is. */
export function whyNotXero(env: NodeJS.ProcessEnv): string | null {
  if (env.CI) return "this is CI, which shares no organisation.";
  if (env.XERO_DEMO_CLIENT_ID && env.XERO_DEMO_CLIENT_SECRET) return null;
  return (
    "XERO_DEMO_CLIENT_ID and XERO_DEMO_CLIENT_SECRET " +
    "of a custom connection to a Demo Company are not set."
  );
}

// Sixty calls a minute are allowed, and a person may also use the organisation (XERO-7).
const xeroGapMs = 1_150;

/** Opens the Demo Company of the environment. Throws if it does not call itself one. */
export async function openXeroDemoCompany(env: NodeJS.ProcessEnv): Promise<XeroPlace> {
  const {
    XERO_DEMO_CLIENT_ID: clientId = "",
    XERO_DEMO_CLIENT_SECRET: clientSecret = "",
    XERO_DEMO_URL: origin,
  } = env;
  const { baseUrl, identityUrl, connectionsUrl } = origin ? addressesAt(origin) : xeroAddresses;
  const credentials = { clientId, clientSecret, baseUrl, identityUrl };
  const authorization = `Bearer ${await fetchToken(credentials)}`;
  const answer = await fetch(connectionsUrl, {
    headers: { authorization, accept: "application/json" },
  });
  const [tenant, ...others] = (await answer.json()) as readonly { readonly tenantId: string }[];
  if (!answer.ok || !tenant || others.length > 0)
    throw new Error(`a custom connection was expected: ${answer.status}`);
  const connection = { ...credentials, tenantId: tenant.tenantId };
  const ledger = ledgers.xero.connect(connection, {});
  const { demo } = okOf(await ledger.describe(aCall()));
  await ledger.close();
  // The suite never writes into a real ledger.
  if (!demo)
    throw new Error(
      "the organisation behind XERO_DEMO_CLIENT_ID is no Demo Company: nothing was sent to it",
    );
  return openPlace(connection, {
    organisation: { demo: true },
    another: null,
    gapMs: xeroGapMs,
    isKept: false,
  });
}

interface PlaceSettings extends Pick<ConformancePlace, "organisation" | "another"> {
  readonly gapMs: number;
  /** Created documents may stay. */
  readonly isKept: boolean;
}

async function openPlace(connection: XeroConnection, settings: PlaceSettings): Promise<XeroPlace> {
  const pace = createPace(settings.gapMs);
  const created: Created = { contacts: new Set(), invoices: new Set(), creditNotes: new Set() };
  const ledger = ledgers.xero.connect(connection, { budget: pacedBudget(pace) });
  const send = openHttp(connection, await fetchToken(connection), pace, created);
  const [accounts, purchases] = [
    okOf(await ledger.listMappingOptions(aCall(), "accounts")),
    okOf(await ledger.listMappingOptions(aCall(), "tax_rates")),
  ];
  const { currency } = okOf(await ledger.describe(aCall()));
  const clean = () => takeOut(ledger, send, created);
  return {
    ledger: recording(ledger, created),
    organisation: settings.organisation,
    currency,
    another: settings.another,
    kind: asXero,
    chart: {
      archivedAccount: accounts.find(({ active }) => !active)?.code ?? null,
      purchaseTax:
        purchases.find(({ active, usableForRevenue }) => active && !usableForRevenue)?.code ?? null,
      ...(await findTax(send)),
    },
    xero: { send, clean },
    close: async () => {
      const left = settings.isKept ? [] : await clean();
      await ledger.close();
      if (left.length > 0) throw new Error(`still in the ledger: ${left.join("; ")}`);
    },
  };
}

/** The ids of created objects. */
interface Created {
  readonly contacts: Set<string>;
  readonly invoices: Set<string>;
  readonly creditNotes: Set<string>;
}

/** Returns the ledger. It notes the ids of all objects that it creates. */
function recording(ledger: Ledger, created: Created): Ledger {
  const kept = <T extends { readonly id: string }>(
    ids: Set<string>,
    answer: LedgerAnswer<readonly LedgerAnswer<T>[]>,
  ) => {
    for (const one of answer.kind === "ok" ? answer.value : [])
      if (one.kind === "ok") ids.add(one.value.id);
    return answer;
  };
  return {
    ...ledger,
    createContacts: async (call, drafts) =>
      kept(created.contacts, await ledger.createContacts(call, drafts)),
    createInvoices: async (call, drafts) =>
      kept(created.invoices, await ledger.createInvoices(call, drafts)),
    createCreditNotes: async (call, drafts) =>
      kept(created.creditNotes, await ledger.createCreditNotes(call, drafts)),
  };
}

type Send = XeroPlace["xero"]["send"];

function openHttp(
  connection: XeroConnection,
  token: string,
  pace: () => Promise<void>,
  created: Created,
): Send {
  const standard = {
    authorization: `Bearer ${token}`,
    accept: "application/json",
    "content-type": "application/json",
  };
  return async (method, path, body, headers = {}) => {
    await pace();
    const answer = await fetch(`${connection.baseUrl}/${path}`, {
      method,
      headers: { ...standard, "xero-tenant-id": connection.tenantId, ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    const sent: Sent = {
      status: answer.status,
      body: text.startsWith("{") ? JSON.parse(text) : {},
      headers: answer.headers,
    };
    if (method === "PUT") keepIds(sent.body, created);
    return sent;
  };
}

function keepIds({ Contacts = [], Invoices = [], CreditNotes = [] }: Body, created: Created): void {
  const keep = (
    ids: Set<string>,
    elements: readonly Element[],
    name: "ContactID" | "InvoiceID" | "CreditNoteID",
  ) => {
    // An element that was refused has an id of noughts, or none.
    for (const { [name]: id } of elements) if (id && !/^0{8}/.test(id)) ids.add(id);
  };
  keep(created.contacts, Contacts, "ContactID");
  keep(created.invoices, Invoices, "InvoiceID");
  keep(created.creditNotes, CreditNotes, "CreditNoteID");
}

/**
 * Removes allocations, then notes and invoices, then contacts, since each prevents the removal of
 * the next. Returns what is left.
 */
async function takeOut(ledger: Ledger, send: Send, created: Created): Promise<readonly string[]> {
  const left: string[] = [];
  const attempt = async (method: string, path: string, body?: object) => {
    const { status, body: answer } = await send(method, path, body);
    if (status !== 200) left.push(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  };
  const endOf = (status: string) =>
    status === "draft" || status === "awaiting_approval" ? "DELETED" : "VOIDED";
  const isOver = (status: string) => status === "deleted" || status === "voided";
  for (const note of okOf(
    await ledger.getMany(aCall(), { kind: "credit_notes", ids: [...created.creditNotes] }),
  ).found) {
    if (isOver(note.status)) continue;
    for (const { id } of note.allocations)
      await attempt("DELETE", `CreditNotes/${note.id}/Allocations/${id}`);
    await attempt("POST", `CreditNotes/${note.id}`, {
      CreditNotes: [{ Status: endOf(note.status) }],
    });
  }
  for (const { id, status } of okOf(
    await ledger.getMany(aCall(), { kind: "invoices", ids: [...created.invoices] }),
  ).found) {
    if (!isOver(status))
      await attempt("POST", `Invoices/${id}`, { Invoices: [{ Status: endOf(status) }] });
  }
  for (const { id, status } of okOf(
    await ledger.getMany(aCall(), { kind: "contacts", ids: [...created.contacts] }),
  ).found) {
    if (status === "active")
      await attempt("POST", `Contacts/${id}`, { Contacts: [{ ContactStatus: "ARCHIVED" }] });
  }
  return left;
}

/** Returns a tax of whole percents on sales. The port's lists have no percents. */
async function findTax(
  send: Send,
): Promise<{ readonly taxType: string; readonly percent: number }> {
  interface Rate {
    readonly TaxType: string;
    readonly Status: string;
    readonly CanApplyToRevenue: boolean;
    readonly EffectiveRate: number;
  }
  const { TaxRates = [] } = (await send("GET", "TaxRates")).body as {
    readonly TaxRates?: readonly Rate[];
  };
  const found = TaxRates.find(
    ({ Status, CanApplyToRevenue, EffectiveRate: rate }) =>
      Status === "ACTIVE" && CanApplyToRevenue && rate >= 10 && Number.isInteger(rate),
  );
  if (!found) throw new Error("the organisation has no tax of whole percents on sales");
  return { taxType: found.TaxType, percent: found.EffectiveRate };
}

async function fetchToken(
  from: Pick<XeroConnection, "clientId" | "clientSecret" | "identityUrl">,
): Promise<string> {
  const answer = await fetch(from.identityUrl, {
    method: "POST",
    headers: {
      authorization: `Basic ${btoa(`${from.clientId}:${from.clientSecret}`)}`,
    },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: xeroScopes }),
  });
  const { access_token: token } = (await answer.json()) as { readonly access_token?: string };
  if (token === undefined) throw new Error(`no token from ${from.identityUrl}: ${answer.status}`);
  return token;
}

/** Spaces the calls by at least `gapMs`. */
function createPace(gapMs: number): () => Promise<void> {
  let next = 0;
  return async () => {
    const now = performance.now();
    const at = Math.max(now, next);
    next = at + gapMs;
    if (at > now) await wait(at - now);
  };
}

function pacedBudget(pace: () => Promise<void>): CallBudget {
  return {
    take: async () => {
      await pace();
      return { kind: "granted", end: async () => undefined };
    },
  };
}
