/** `billing status`: whether anything waits for a person, and how the organisation does. */
import { AttentionService } from "../../../../../src/gen/proto/billing/admin/v1/attention_pb.ts";
import { OverviewService } from "../../../../../src/gen/proto/billing/admin/v1/overview_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Verb, Work } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { attentionLines } from "./attention.ts";
import { overviewLines } from "./overview.ts";

/** What waits that fits on a glance. */
const shownThings = 5;

/** Shows what waits for a person, and the figures of the organisation if one is named. */
export const status: Verb = {
  name: "status",
  method: AttentionService.method.listAttention,
  also: OverviewService.method.getOverview,
  summary: "Show whether anything waits for you, and the figures of the organisation.",
  details: "Without an organisation it shows what waits in all of them.",
  examples: ["status", "status --organisation 'Northwind Software' --json"],
  fields: { organisation: "of this organisation, by id or name; BILLING_ORGANISATION if left out" },
  fileFields: ["kind", "severity", "limit", "starting_after"],
  narrowsToSetting: true,
  work: readStatus,
  lines: ({ attention, overview }, work) => [
    ...attentionLines(isObject(attention) ? attention : {}, work),
    ...(isObject(overview) ? ["", ...overviewLines(overview, work)] : []),
  ],
};

async function readStatus({ connection, request }: Work): Promise<Json> {
  const { listAttention } = AttentionService.method;
  const attention = await callJson(connection, listAttention, { ...request, limit: shownThings });
  if (request.organisation === undefined) return { attention };
  const { getOverview } = OverviewService.method;
  return { attention, overview: await callJson(connection, getOverview, request) };
}
