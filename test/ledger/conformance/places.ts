/**
 * The places in which the conformance suite runs: one for every kind of ledger in the registry and
 * for the memory ledger, and a Xero Demo Company if its credentials are in the environment.
 */

import type { DemoLedgerFixture } from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { Sent } from "../../../packages/demo-ledger/test/request.ts";
import type { ledgers } from "../../../src/ledger/index.ts";
import type { Ledger } from "../../../src/ledger/port/ledger.ts";
import { createMemoryLedger, memorySecret } from "../../support/memory-ledger.ts";
import { openDemoLedger, openXeroDemoCompany, whyNotXero } from "./xero-places.ts";

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

/** A place by its name. `open` creates nothing in the ledger. */
export interface NamedPlace {
  readonly name: string;
  open(fixture: DemoLedgerFixture): Promise<ConformancePlace>;
}

/** How long the removal may take: a call for each of about two hundred objects, at Xero's pace. */
export const cleaningMs = 10 * 60_000;

const places = {
  xero: openDemoLedger,
  memory: openMemoryLedger,
} satisfies Record<keyof typeof ledgers | "memory", NamedPlace["open"]>;

/** Returns all places. Logs in one line why Xero itself is not among them. */
export function conformancePlaces(env: NodeJS.ProcessEnv = process.env): readonly NamedPlace[] {
  const local = Object.entries(places).map(([name, open]) => ({ name: `a ${name} ledger`, open }));
  const missing = whyNotXero(env);
  if (missing === null)
    return [...local, { name: "a Xero Demo Company", open: () => openXeroDemoCompany(env) }];
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
    another: async () => open("100002"),
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
