/** `billing charges`: the one-off fees of an organisation's catalogue. CATALOGUE-7 */
import { ChargeService } from "../../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import type { Noun } from "../../noun.ts";
import { chargeByCode } from "../lookups.ts";

const { method } = ChargeService;

const lookups = { id: chargeByCode };

const details = {
  code: "its code, used as charge_code",
  name: "its name",
  description: "what it is for",
  currency: "its ISO 4217 currency code; the organisation's for a new charge",
  price: "its price, up to four places",
  allows_price_override: "a new subscription may have it at another price",
};

/** Creates, lists and changes charges. */
export const charges: Noun = {
  name: "charges",
  summary: "Create charges and change them",
  verbs: [
    {
      name: "create",
      method: method.createCharge,
      summary: "Create a charge, as a draft.",
      examples: [
        "charges create --code onboarding --name Onboarding --price 250",
        "charges create --file onboarding.json",
      ],
      fields: details,
      takesFile: true,
    },
    {
      name: "list",
      method: method.listCharges,
      summary: "List charges, newest first, in every status unless --status names one.",
      examples: ["charges list", "charges list --status draft"],
      fields: { code: "only the charge with this code", status: "only charges with this status" },
      columns: ["id", "code", "name", "price", "currency", "status", "invoice_lines"],
    },
    {
      name: "get",
      method: method.getCharge,
      summary: "Show a charge.",
      examples: ["charges get onboarding"],
      places: ["id"],
      lookups,
    },
    {
      name: "update",
      method: method.updateCharge,
      summary: "Change only the members that are named.",
      details: "Once it has been billed, its code, price and currency stay (charge_in_use).",
      examples: ["charges update onboarding --description 'Two hours with our team'"],
      places: ["id"],
      fields: details,
      takesFile: true,
      lookups,
    },
    {
      name: "set-status",
      method: method.setChargeStatus,
      summary:
        "Move a charge: draft to active, active to legacy or inactive, legacy back to active.",
      examples: ["charges set-status onboarding active"],
      places: ["id", "status"],
      lookups,
      irreversible: ({ id, status }) =>
        status === "inactive" ? `The charge ${String(id)} can never be used again.` : null,
    },
  ],
};
