/** `billing mapping`: the ledger's accounts and tax types of billed lines. DOCUMENT-5 */
import { AccountMappingService } from "../../../../../src/gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import type { Noun } from "../../noun.ts";
import { chargeByCode, meterByCode, planByCode } from "../lookups.ts";

const { method } = AccountMappingService;

/** Shows and sets the mapping. */
export const mapping: Noun = {
  name: "mapping",
  summary: "Map what is billed onto accounts of the ledger",
  verbs: [
    {
      name: "get",
      method: method.getAccountMapping,
      summary: "Show the default, and all plans, charges and meters that have their own mapping.",
      examples: ["mapping get"],
    },
    {
      name: "set",
      method: method.setAccountMapping,
      summary: "Set the account and tax type of the default, of a plan, a charge or a meter.",
      details:
        "The whole mapping of the target is replaced. What is left out is cleared, and the " +
        "default " +
        "applies.",
      examples: [
        "mapping set --revenue-account 200 --tax-type OUTPUT2",
        "mapping set --plan team --revenue-account 260",
        "mapping set --meter api-calls --revenue-account 260",
        "mapping set --charge onboarding    # clears it: the default applies again",
      ],
      fields: {
        plan: "a plan's id or code: only its lines",
        charge: "a charge's id or code: only its lines",
        meter: "a meter's id or code: only its lines",
        revenue_account:
          "the revenue account, by its code in the ledger; without it units cannot be changed",
        tax_type: "the tax type, by its code in the ledger",
        skip_check: "save without a check that the ledger has both",
      },
      takesFile: true,
      lookups: { plan: planByCode, charge: chargeByCode, meter: meterByCode },
    },
  ],
};
