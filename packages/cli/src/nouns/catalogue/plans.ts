/** `billing plans`: the plans of an organisation's catalogue. CATALOGUE-1, CATALOGUE-2 */
import { PlanService } from "../../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import type { Noun } from "../../noun.ts";
import { planByCode } from "../lookups.ts";
import { meterOption, withNewMeters, withOtherMeters } from "./plan-meters.ts";

const { method } = PlanService;

const lookups = { id: planByCode };

const details = {
  code: "its code, used as plan_code",
  name: "its name",
  interval_months: "how many months a period has; 1 for a new plan",
  currency: "its ISO 4217 currency code; the organisation's for a new plan",
  price: "the price of a period (flat fee) or of a unit (per unit), up to four places",
  minimum_units: "the fewest units that a subscription may have",
  free_units: "how many units cost nothing",
  unit_singular: "what one unit is called",
  unit_plural: "what several units are called",
  allows_price_override: "a subscription may have its own price",
};

/** Creates, lists and changes plans. */
export const plans: Noun = {
  name: "plans",
  summary: "Create plans and change them",
  verbs: [
    {
      name: "create",
      method: method.createPlan,
      summary: "Create a plan, as a draft.",
      details:
        'Tiers come from a file: {"tiers":[{"up_to":10,"unit_price":"7"},{"unit_price":"5"}]}. ' +
        "Each " +
        "begins where the one before it ends, and the last has no end. Tiered and volume plans " +
        "need " +
        "unit_price, stairstep plans flat_price. Meters with tiers come from a file too: " +
        '{"meters":[{"meter":"api-calls","type":"tiered","tiers":[{"unit_price":"0.002"}]}]}.',
      examples: [
        "plans create --code team --name Team --type per-unit --price 12.50 " +
          "--unit-singular seat --unit-plural seats",
        "plans create --code cloud --name Cloud --type flat-fee --price 49 " +
          "--meter api-calls=0.002 --meter storage=0.10",
        "plans create --file growth.json",
        "plans create --file - < growth.json",
      ],
      fields: { ...details, type: "how it prices units" },
      fileFields: ["tiers", "meters"],
      takesFile: true,
      extra: [meterOption],
      withExtra: withNewMeters,
    },
    {
      name: "list",
      method: method.listPlans,
      summary: "List plans, newest first, in every status unless --status names one.",
      examples: ["plans list", "plans list --status active --all"],
      fields: { code: "only the plan with this code", status: "only plans with this status" },
      columns: ["id", "code", "name", "type", "price", "currency", "status", "subscriptions"],
    },
    {
      name: "get",
      method: method.getPlan,
      summary: "Show a plan with its tiers and meters.",
      examples: ["plans get team", "plans get 0199a0b2-2222-7000-8000-000000000001 --json"],
      places: ["id"],
      lookups,
    },
    {
      name: "update",
      method: method.updatePlan,
      summary: "Change only the members that are named.",
      details:
        "Once a subscription uses the plan, what it bills never changes (plan_in_use): create " +
        "another plan and retire this one. Tiers are replaced as a whole, from a file: " +
        '{"tiers":{"tiers":[{"up_to":10,"unit_price":"7"},{"unit_price":"5"}]}}. ' +
        'So are meters, from options or as {"meters":{"meters":[…]}}.',
      examples: [
        "plans update team --name 'Team plan'",
        "plans update growth --file new-tiers.json",
        "plans update team --meter api-calls=0.002",
      ],
      places: ["id"],
      fields: details,
      fileFields: ["tiers", "meters"],
      takesFile: true,
      extra: [meterOption],
      withExtra: withOtherMeters,
      lookups,
    },
    {
      name: "set-status",
      method: method.setPlanStatus,
      summary: "Move a plan: draft to active, active to legacy or inactive, legacy back to active.",
      examples: ["plans set-status team active", "plans set-status team inactive --yes"],
      places: ["id", "status"],
      lookups,
      irreversible: ({ id, status }) =>
        status === "inactive" ? `The plan ${String(id)} can never be used again.` : null,
    },
  ],
};
