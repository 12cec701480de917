/**
 * The registry: the kinds of ledger that an organisation can be connected to (LEDGER-7). A new kind
 * is a folder and a line here.
 */
import type { LedgerKinds } from "./port/ledger-kind.ts";
import { tryton } from "./tryton/tryton-kind.ts";
import { xero } from "./xero/xero-kind.ts";

/** Every kind, by the name that is stored with a connection. */
export const ledgers = { xero, tryton } as const satisfies LedgerKinds;
