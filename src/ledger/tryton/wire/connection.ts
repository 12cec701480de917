/** How to reach one company of a Tryton database, and what callers must know of Tryton. */
import type { LedgerCredentials, LedgerTraits } from "../../port/ledger-kind.ts";

/** The tenant of a connection: a database and the id of a company in it. */
const tenantPattern = /^([\w.-]{1,63})\/([1-9]\d{0,8})$/;

/** A connection's address below which all its requests are, and its company. */
export interface TrytonPlace {
  readonly restUrl: string;
  readonly companyId: number;
}

/** Says what is wrong with a tenant, or null. */
export function tenantFaultOf(tenantId: string): string | null {
  return tenantPattern.test(tenantId)
    ? null
    : "must be the database and the number of the company in it, such as books/1";
}

/** Returns the place of a connection. Throws for a tenant that `tenantFaultOf` refuses. */
export function placeOf({
  baseUrl,
  tenantId,
}: Pick<LedgerCredentials, "baseUrl" | "tenantId">): TrytonPlace {
  const [, database, company] = tenantPattern.exec(tenantId) ?? [];
  if (database === undefined) throw new Error(`the tenant ${tenantId} names no company`);
  return { restUrl: `${baseUrl}/${database}/rest/model`, companyId: Number(company) };
}

/** What callers must know of Tryton. */
export const trytonTraits = {
  // It has no limits of its own. A document takes three or four requests of up to two seconds, so
  // that four documents fit the deadline of a call.
  calls: { minute: 1_200, day: null, concurrent: 4, documents: 4 },
  documents: {
    // Those of the currency, of which none has more.
    amountPlaces: 3,
    maxLines: null,
    maxNumberLength: 255,
    maxDescriptionLength: 4_000,
    hasDrafts: true,
    canAmendApproved: false,
    hasUniqueNumbers: false,
  },
  numbers: "theirs",
  idempotency: "drafts",
  notifications: "none",
  removal: "forgets_drafts",
  maxContactCodeLength: 255,
} as const satisfies LedgerTraits;
