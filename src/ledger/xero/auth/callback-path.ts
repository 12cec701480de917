/** The path below the admin port to which a browser returns after a consent at the ledger. */

/** The end of the redirect URL that is registered with our app at Xero. */
export const callbackPath = "/ledger/xero/callback";
