/**
 * The places in which the conformance suite runs: one for every kind of ledger in the registry and
 * for the memory ledger, and a Xero Demo Company if its credentials are in the environment.
 */

import type { DemoLedgerFixture } from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { Sent } from "../../../packages/demo-ledger/test/request.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import type { Ledger, LedgerLineAmounts } from "../../../src/ledger/port/ledger.ts";
import { createMemoryLedger, memorySecret } from "../../support/memory-ledger.ts";
import { asXero, openDemoLedger, openXeroDemoCompany, whyNotXero } from "./xero-places.ts";

/** An organisation in a ledger that the suite may fill. */
export interface ConformancePlace {
  readonly ledger: Ledger;
  /** How it must describe itself, as far as that is known. */
  readonly organisation: object;
  readonly currency: string;
  /** Codes that documents can carry, or cannot. Null if the organisation has no such code. */
  readonly chart: {
    readonly archivedAccount: string | null;
    readonly purchaseTax: string | null;
    /** A tax of whole percents on sales. */
    readonly taxType: string;
    readonly percent: number;
  };
  /** What its kind does otherwise than Xero, and no caller needs to know. */
  readonly kind: {
    /** It refuses a second contact of the same name, and angle brackets in one. */
    readonly areNamesUnique: boolean;
    /** It says of a contact that it has had an invoice. */
    readonly marksCustomers: boolean;
    readonly lineAmounts: readonly LedgerLineAmounts[];
  };
  /** Another organisation, or null if there is none. */
  readonly another: (() => Promise<Ledger>) | null;
  /** Xero's own API. Null for another kind of ledger. */
  readonly xero: XeroAccess | null;
  /** Closes it. Objects that must not stay are removed first. */
  close(): Promise<void>;
}

/** Access to Xero's own API, under `/api.xro/2.0/`. */
interface XeroAccess {
  send(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Sent>;
  /** Removes all objects that were created. Returns those that it could not remove. */
  clean(): Promise<readonly string[]>;
}

/** A place of Xero. */
export type XeroPlace = ConformancePlace & { readonly xero: XeroAccess };

/** A place by its name. `open` creates nothing in the ledger. `missing` says why there is none. */
export interface NamedPlace {
  readonly name: string;
  readonly missing: string | null;
  open(fixture: DemoLedgerFixture): Promise<ConformancePlace>;
}

/** How long the removal may take: a call for each of about two hundred objects, at Xero's pace. */
export const cleaningMs = 10 * 60_000;

const places = {
  xero: openDemoLedger,
  tryton: openTryton,
  memory: openMemoryLedger,
} satisfies Record<keyof typeof ledgers | "memory", NamedPlace["open"]>;

/**
 * Returns all places but Tryton's, or that one alone in the project of tests that need Python. Logs
 * in one line why Xero itself is not among them.
 */
export async function conformancePlaces(
  env: NodeJS.ProcessEnv = process.env,
): Promise<readonly NamedPlace[]> {
  if (env.LEDGER_PLACES === "tryton") return [await trytonPlace()];
  const local = [placeOf("a xero ledger", places.xero), placeOf("a memory ledger", places.memory)];
  const missing = whyNotXero(env);
  if (missing === null)
    return [...local, placeOf("a Xero Demo Company", () => openXeroDemoCompany(env))];
  console.log(`Not run against Xero itself: ${missing}`);
  return local;
}

async function openMemoryLedger(): Promise<ConformancePlace> {
  const { kind } = createMemoryLedger();
  const open = (tenantId: string) => {
    const addresses = { baseUrl: "", identityUrl: "" };
    return kind.connect({ tenantId, clientId: "c", clientSecret: memorySecret, ...addresses }, {});
  };
  const ledger = open("100001");
  return {
    ledger,
    organisation: { id: "100001", name: "Memory Ltd", currency: "NZD" },
    currency: "NZD",
    chart: { archivedAccount: "201", purchaseTax: null, taxType: "GST", percent: 15 },
    kind: asXero,
    another: async () => open("100002"),
    xero: null,
    close: () => ledger.close(),
  };
}

/** Only that project has Tryton's fixture. */
async function trytonPlace(): Promise<NamedPlace> {
  const { whyNoTryton } = await import("../tryton/tryton-fixture.ts");
  return { ...placeOf("a tryton ledger", places.tryton), missing: whyNoTryton };
}

function placeOf(name: string, open: NamedPlace["open"]): NamedPlace {
  return { name, open, missing: null };
}

async function openTryton(): Promise<ConformancePlace> {
  const { credentialsOf, freshTryton } = await import("../tryton/tryton-fixture.ts");
  const open = async () => {
    const access = await freshTryton();
    const { tenantId: id, company } = access;
    return { ledger: ledgers.tryton.connect(credentialsOf(access), {}), id, company };
  };
  const { ledger, id, company } = await open();
  return {
    ledger,
    organisation: { id, currency: "GBP", multicurrency: false },
    currency: "GBP",
    chart: { archivedAccount: "201", purchaseTax: null, ...company },
    kind: { areNamesUnique: false, marksCustomers: false, lineAmounts: ["exclusive", "none"] },
    another: async () => (await open()).ledger,
    xero: null,
    close: () => ledger.close(),
  };
}

/** Returns a place as a place of Xero. Throws for another kind. */
export function xeroPlaceOf(place: ConformancePlace): XeroPlace {
  const { xero } = place;
  if (xero === null) throw new Error("this place is not Xero's");
  return { ...place, xero };
}
