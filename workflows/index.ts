/** Every workflow of the service: what the bundle contains and the worker registers. */
export { ledgerSettlement } from "./ledger-settlement.ts";
