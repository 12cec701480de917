/** `billing meters`: the meters of which usage is reported. CATALOGUE-8 */
import { MeterService } from "../../../../../src/gen/proto/billing/admin/v1/meters_pb.ts";
import type { Noun } from "../../noun.ts";
import { meterByCode } from "../lookups.ts";

const { method } = MeterService;

const lookups = { id: meterByCode };

const details = {
  name: "its name, as usage lines have it",
  unit_label: "what it counts, in the singular, such as call",
  revenue_account: "the revenue account of its lines, by its code in the ledger",
  tax_type: "the tax type of its lines, by its code in the ledger",
  skip_check: "save without a check that the ledger has both",
};

/** Creates, lists and changes meters. */
export const meters: Noun = {
  name: "meters",
  summary: "Create meters and change them",
  verbs: [
    {
      name: "create",
      method: method.createMeter,
      summary: "Create a meter, active at once.",
      details: "Its usage is billed if a plan has a price for it: see `plans create`.",
      examples: [
        "meters create --code api-calls --name 'API calls' --unit-label call",
        "meters create --code storage --name Storage --unit-label GB --revenue-account 260",
      ],
      fields: { code: "its code, used as meter_code; it never changes", ...details },
      takesFile: true,
    },
    {
      name: "list",
      method: method.listMeters,
      summary: "List meters, newest first, in both statuses unless --status names one.",
      examples: ["meters list", "meters list --status active --all"],
      fields: { code: "only the meter with this code", status: "only meters with this status" },
      columns: [
        "id",
        "code",
        "name",
        "unit_label",
        "status",
        "revenue_account",
        "tax_type",
        "plans",
      ],
    },
    {
      name: "get",
      method: method.getMeter,
      summary: "Show a meter.",
      examples: ["meters get api-calls"],
      places: ["id"],
      lookups,
    },
    {
      name: "update",
      method: method.updateMeter,
      summary: "Change only the members that are named.",
      details:
        "An empty account or tax type is cleared. The organisation's default then applies again.",
      examples: [
        "meters update api-calls --name 'Calls of the API'",
        "meters update storage --revenue-account ''",
      ],
      places: ["id"],
      fields: details,
      takesFile: true,
      lookups,
    },
    {
      name: "set-status",
      method: method.setMeterStatus,
      summary: "Activate or deactivate a meter. An inactive meter accepts no usage.",
      details: "Usage that was reported before is still billed.",
      examples: ["meters set-status storage inactive"],
      places: ["id", "status"],
      lookups,
    },
  ],
};
