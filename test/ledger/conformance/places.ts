/**
 * Where the conformance suite runs: on a demo ledger for every kind of ledger in the registry, and on a Xero Demo Company where its
 * credentials are in the environment, within its limits, cleaned up afterwards, and never in CI.
 */
import { setTimeout as wait } from "node:timers/promises";
import { type LedgerKind, ledgers } from "../../../src/ledger/index.ts";
import type { CallBudget, Ledger, LedgerAnswer } from "../../../src/ledger/port/ledger.ts";
import { addressesAt, xeroAddresses } from "../../../src/ledger/xero/auth/app.ts";
import { type XeroConnection, xeroDefaults } from "../../../src/ledger/xero/wire/connection.ts";
import { aCall, type DemoWorld, okOf } from "../../dev/demo-ledger/demo-ledger-fixture.ts";
import type { Body, Element, Sent } from "../../dev/demo-ledger/request.ts";

/** An organisation in a ledger that the suite may fill. */
export interface ConformancePlace {
  readonly ledger: Ledger;
  /** What it must say of itself, as far as that is known. */
  readonly organisation: object;
  readonly currency: string;
  /** Codes that documents can carry, or could not; null where the organisation has none such. */
  readonly chart: {
    readonly archivedAccount: string | null;
    readonly purchaseTax: string | null;
    /** A tax of whole percents on sales. */
    readonly taxType: string;
    readonly percent: number;
  };
  /** Another organisation; null where there is none. */
  readonly another: (() => Promise<Ledger>) | null;
  /** Xero's own API under `/api.xro/2.0/`. */
  send(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Sent>;
  /** Takes everything out of the books again that was made by `ledger` or `send`; what it could not. */
  clean(): Promise<readonly string[]>;
  /** Closes it; what must not stay is cleaned up first. */
  close(): Promise<void>;
}

/** A place by its name; `open` makes nothing in the ledger. */
export interface NamedPlace {
  readonly name: string;
  open(world: DemoWorld): Promise<ConformancePlace>;
}

/** How long cleaning up may take: a call each for some two hundred documents and contacts, at Xero's pace. */
export const cleaningMs = 10 * 60_000;

const demoPlaces = {
  xero: async (world) => {
    const connection = await world.connect();
    const organisation = { name: "Test Ltd", currency: "GBP", periodLockDate: null };
    const another = async () => ledgers.xero(await world.connect());
    return openPlace(connection, { organisation, another, gapMs: 0, isKept: true });
  },
} satisfies Record<LedgerKind, NamedPlace["open"]>;

/** All places there are. Tells in one line why Xero itself is none of them. */
export function conformancePlaces(env: NodeJS.ProcessEnv = process.env): readonly NamedPlace[] {
  const demos = Object.entries(demoPlaces).map(([kind, open]) => ({
    name: `${kind} on the demo ledger`,
    open,
  }));
  const missing = whyNotXero(env);
  if (missing === null)
    return [...demos, { name: "a Xero Demo Company", open: () => openXeroDemoCompany(env) }];
  console.log(`Not run against Xero itself: ${missing}`);
  return demos;
}

/** Why a Xero Demo Company is not to be asked; null where it is. */
export function whyNotXero(env: NodeJS.ProcessEnv): string | null {
  if (env.CI) return "this is CI, which shares no organisation with anybody.";
  if (env.XERO_DEMO_CLIENT_ID && env.XERO_DEMO_CLIENT_SECRET) return null;
  return "XERO_DEMO_CLIENT_ID and XERO_DEMO_CLIENT_SECRET of a custom connection to a Demo Company are not set.";
}

// Sixty calls a minute are allowed, and somebody may be looking at the organisation meanwhile. Facts: facts-ledger section 1.7.
const xeroGapMs = 1_150;

async function openXeroDemoCompany(env: NodeJS.ProcessEnv): Promise<ConformancePlace> {
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
  const ledger = ledgers.xero(connection);
  const { demo } = okOf(await ledger.describe(aCall()));
  await ledger.close();
  // Nothing of this is for anybody's real books.
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
  /** What was made may stay. */
  readonly isKept: boolean;
}

async function openPlace(
  connection: XeroConnection,
  settings: PlaceSettings,
): Promise<ConformancePlace> {
  const pace = createPace(settings.gapMs);
  const made: Made = { contacts: new Set(), invoices: new Set(), creditNotes: new Set() };
  const ledger = ledgers.xero(connection, { budget: pacedBudget(pace) });
  const send = openHttp(connection, await fetchToken(connection), pace, made);
  const [accounts, purchases] = [
    okOf(await ledger.listMappingOptions(aCall(), "accounts")),
    okOf(await ledger.listMappingOptions(aCall(), "tax_rates")),
  ];
  const { currency } = okOf(await ledger.describe(aCall()));
  const clean = () => takeOut(ledger, send, made);
  return {
    ledger: recording(ledger, made),
    organisation: settings.organisation,
    currency,
    another: settings.another,
    chart: {
      archivedAccount: accounts.find(({ active }) => !active)?.code ?? null,
      purchaseTax:
        purchases.find(({ active, usableForRevenue }) => active && !usableForRevenue)?.code ?? null,
      ...(await findTax(send)),
    },
    send,
    clean,
    close: async () => {
      const left = settings.isKept ? [] : await clean();
      await ledger.close();
      if (left.length > 0) throw new Error(`still in the books: ${left.join("; ")}`);
    },
  };
}

/** What was made, by its ids. */
interface Made {
  readonly contacts: Set<string>;
  readonly invoices: Set<string>;
  readonly creditNotes: Set<string>;
}

/** The ledger, with the ids of all that it makes kept. */
function recording(ledger: Ledger, made: Made): Ledger {
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
      kept(made.contacts, await ledger.createContacts(call, drafts)),
    createInvoices: async (call, drafts) =>
      kept(made.invoices, await ledger.createInvoices(call, drafts)),
    createCreditNotes: async (call, drafts) =>
      kept(made.creditNotes, await ledger.createCreditNotes(call, drafts)),
  };
}

type Send = ConformancePlace["send"];

function openHttp(
  connection: XeroConnection,
  token: string,
  pace: () => Promise<void>,
  made: Made,
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
    if (method === "PUT") keepIds(sent.body, made);
    return sent;
  };
}

function keepIds({ Contacts = [], Invoices = [], CreditNotes = [] }: Body, made: Made): void {
  const keep = (
    ids: Set<string>,
    elements: readonly Element[],
    name: "ContactID" | "InvoiceID" | "CreditNoteID",
  ) => {
    // An element that was refused has an id of noughts, or none.
    for (const { [name]: id } of elements) if (id && !/^0{8}/.test(id)) ids.add(id);
  };
  keep(made.contacts, Contacts, "ContactID");
  keep(made.invoices, Invoices, "InvoiceID");
  keep(made.creditNotes, CreditNotes, "CreditNoteID");
}

/** Allocations, then notes and invoices, then contacts: each stands in the way of the one before it. */
async function takeOut(ledger: Ledger, send: Send, made: Made): Promise<readonly string[]> {
  const left: string[] = [];
  const attempt = async (method: string, path: string, body?: object) => {
    const { status, body: told } = await send(method, path, body);
    if (status !== 200) left.push(`${method} ${path}: ${status} ${JSON.stringify(told)}`);
  };
  const endOf = (status: string) =>
    status === "draft" || status === "awaiting_approval" ? "DELETED" : "VOIDED";
  const isOver = (status: string) => status === "deleted" || status === "voided";
  for (const note of okOf(
    await ledger.getMany(aCall(), { kind: "credit_notes", ids: [...made.creditNotes] }),
  ).found) {
    if (isOver(note.status)) continue;
    for (const { id } of note.allocations)
      await attempt("DELETE", `CreditNotes/${note.id}/Allocations/${id}`);
    await attempt("POST", `CreditNotes/${note.id}`, {
      CreditNotes: [{ Status: endOf(note.status) }],
    });
  }
  for (const { id, status } of okOf(
    await ledger.getMany(aCall(), { kind: "invoices", ids: [...made.invoices] }),
  ).found) {
    if (!isOver(status))
      await attempt("POST", `Invoices/${id}`, { Invoices: [{ Status: endOf(status) }] });
  }
  for (const { id, status } of okOf(
    await ledger.getMany(aCall(), { kind: "contacts", ids: [...made.contacts] }),
  ).found) {
    if (status === "active")
      await attempt("POST", `Contacts/${id}`, { Contacts: [{ ContactStatus: "ARCHIVED" }] });
  }
  return left;
}

/** A tax of whole percents on sales, which the port's lists do not tell. */
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
      authorization: `Basic ${Buffer.from(`${from.clientId}:${from.clientSecret}`).toString("base64")}`,
    },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: xeroDefaults.scopes }),
  });
  const { access_token: token } = (await answer.json()) as { readonly access_token?: string };
  if (token === undefined) throw new Error(`no token from ${from.identityUrl}: ${answer.status}`);
  return token;
}

/** Calls go out one after the other, this far apart. */
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
