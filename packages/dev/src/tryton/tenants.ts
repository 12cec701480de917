/** The tenants of the first data in Tryton: a database for each organisation. */
import type { OpenTenant } from "../demo/first-data.ts";
import type { TrytonServer } from "./server.ts";

/** The database of the sandbox. */
export const sandboxName = "tryton_sandbox";

/** Opens a new database for each organisation. Its company keeps its books in pounds. */
export function openTrytonTenants(tryton: TrytonServer): OpenTenant {
  return async ({ livemode }) => {
    const access = await tryton.addDatabase(livemode ? "tryton_live" : sandboxName);
    const { tenantId, baseUrl, clientSecret, company } = access;
    return {
      connection: {
        kind: "tryton",
        grantKind: "custom",
        tenantId,
        baseUrl,
        clientSecret,
        clientId: "billing",
        identityUrl: "",
      },
      currency: "GBP",
      taxType: company.taxType,
    };
  };
}
