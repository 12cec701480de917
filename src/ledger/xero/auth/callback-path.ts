/** The path below the admin port to which a browser comes back after a consent at the ledger. */

/** Registered with our app at the ledger as the end of its redirect URL. */
export const callbackPath = "/ledger/xero/callback";
