/** `billing audit`: who changed what, and when. ADMIN-2 */
import type { JsonValue } from "@bufbuild/protobuf";
import { AuditService } from "../../../../../src/gen/proto/billing/admin/v1/audit_pb.ts";
import type { Noun } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { operatorByName } from "../lookups.ts";

/** Lists the audit log. */
export const audit: Noun = {
  name: "audit",
  summary: "Show the audit log",
  verbs: [
    {
      name: "list",
      method: AuditService.method.listAuditEntries,
      summary: "List changes, newest first. --json shows all members.",
      examples: [
        "audit list --organisation $BILLING_ORGANISATION",
        "audit list --target 0199a0b2-4444-7000-8000-000000000001 --json",
        "audit list --operator Ada --since 7d -o csv",
      ],
      fields: {
        organisation: "only changes in this organisation, by id or name",
        operator: "only changes by this operator, by id or name",
        target: "only changes of the object with this id",
        since: "only changes at this time or later",
      },
      lookups: { operator: operatorByName },
      columns: [
        "created",
        "operator_name",
        { title: "operation", of: ({ operation }) => String(operation).replace(/^.*\//, "") },
        "target_kind",
        "target",
        { title: "change", of: changeOf },
      ],
    },
  ],
};

/** The members that differ, as `status draft → active`. For a new object only `new`. */
function changeOf({ before, after }: Json): string {
  if (!isObject(before)) return "new";
  if (!isObject(after)) return "gone";
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => `${name} ${textOf(before[name])} → ${textOf(after[name])}`)
    .join(", ");
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "none";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
