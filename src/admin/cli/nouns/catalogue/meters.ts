/** `billing meters`: the meters of which usage is reported. CATALOGUE-8 */
import { MeterService } from "../../../../gen/proto/billing/admin/v1/meters_pb.ts";
import type { Noun } from "../../noun.ts";
import { meterByCode } from "../lookups.ts";

const { method } = MeterService;

const lookups = { id: meterByCode };

const details = {
  name: "its name, as usage lines carry it",
  unit_label: "what it counts, in the singular, such as call",
  revenue_account: "the revenue account of its lines, by its code in the ledger",
  tax_type: "the tax type of its lines, by its code in the ledger",
  skip_check: "save without looking both up in the ledger first",
};

/** Creates, lists and changes meters. */
export const meters: Noun = {
  name: "meters",
  summary: "Make meters and keep them",
  verbs: [
    {
      name: "create",
      method: method.createMeter,
      summary: "Create a meter, active at once.",
      details: "What is used of it is billed where a plan has a price for it: see plans create.",
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
      summary: "List meters, newest first, in both statuses unless one is given.",
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
      summary: "Change a meter: what is given, nothing else.",
      details: "An empty account or tax type is cleared: the organisation's default counts again.",
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
      summary: "Move a meter: an inactive one takes no usage any more, until it is active again.",
      details: "What was reported of it is billed all the same.",
      examples: ["meters set-status storage inactive"],
      places: ["id", "status"],
      lookups,
    },
  ],
};
