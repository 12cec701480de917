/**
 * `billing usage`: reported usage, the documents that bill it, checking its sums, exporting and
 * dropping events, and voiding them. USAGE-13, USAGE-17, USAGE-18
 */
import { UsageService } from "../../../../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { callJson } from "../../call-json.ts";
import { type Column, type Noun, previewedStateText, type Work } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { meterByCode } from "../lookups.ts";
import { dropUsage, exportUsage } from "./drop-usage.ts";
import { voidLines } from "./preview-lines.ts";

const { method } = UsageService;

const lookups = { meter: meterByCode };

const meter = "only of this meter, by id or code";

/** The number of the invoice or credit note that bills the usage. Empty if there is none yet. */
const document: Column = {
  title: "document",
  of: ({ invoice, credit_note: creditNote }) => numberOf(invoice) || numberOf(creditNote),
};

function numberOf(one: Json[string] | undefined): string {
  return isObject(one) ? String(one.number) : "";
}

/** Checks page after page. If a page fails, it writes the cursor to continue from. */
async function checkSums({ terminal, connection, request }: Work): Promise<Json> {
  const data: Json[] = [];
  let read = 0;
  let next: Json = request;
  for (;;) {
    const page = await callJson(connection, method.checkUsageSums, next).catch((error: unknown) => {
      if (typeof next.cursor === "string")
        terminal.err(`\nContinue with --cursor ${next.cursor}\n`);
      throw error;
    });
    if (Array.isArray(page.data)) data.push(...page.data.filter(isObject));
    read += Number(page.read ?? 0);
    if (typeof page.next_cursor !== "string") return { data, read, has_more: false };
    terminal.err(`${read} subscriptions checked, ${data.length} differences\n`);
    next = { ...request, cursor: page.next_cursor };
  }
}

/** Lists usage and its events, checks its sums, and voids events. */
export const usage: Noun = {
  name: "usage",
  summary: "Show a subscription's usage with the documents that bill it, and void events",
  verbs: [
    {
      name: "list",
      method: method.listUsage,
      summary:
        "List a subscription's usage by period and meter, newest first, with the document that " +
        "bills it.",
      examples: [
        "usage list 0199a0b2-6666-7000-8000-000000000001",
        "usage list 0199a0b2-6666-7000-8000-000000000001 --meter api-calls --all --json",
      ],
      places: ["subscription"],
      fields: { meter },
      lookups,
      columns: [
        "period.index",
        "period.start",
        "period.end",
        "meter.code",
        "state",
        "events",
        "quantity",
        "late",
        "amount",
        document,
      ],
    },
    {
      name: "events",
      method: method.listUsageEvents,
      summary:
        "List the events of a subscription that count, by bill, period and meter, newest first.",
      details:
        "Voided events are in `usage get`, and in `audit list --target` with the subscription's " +
        "id.",
      examples: [
        "usage events 0199a0b2-6666-7000-8000-000000000001",
        "usage events 0199a0b2-6666-7000-8000-000000000001 --meter api-calls --period 3",
      ],
      places: ["subscription"],
      fields: { meter, period: "only of the period with this number; the first is 0" },
      lookups,
      columns: [
        "id",
        "meter.code",
        "quantity",
        "timestamp",
        "received",
        "period.start",
        "billed",
        document,
      ],
    },
    {
      name: "get",
      method: method.getUsageEvent,
      summary: "Show one event by the id under which it was reported, also a voided one.",
      examples: ["usage get evt-2026-03-05-000017"],
      places: ["id"],
    },
    {
      name: "check",
      method: method.checkUsageSums,
      summary: "Compare the sums of an organisation's usage with its events.",
      details: "It changes nothing. The command exits with 1 if a sum differs from its events.",
      examples: ["usage check", "usage check --json"],
      fields: { cursor: "continue an interrupted check" },
      columns: [
        "subscription",
        "bill",
        "period",
        "meter",
        "events",
        "quantity",
        "summed_events",
        "summed_quantity",
        "dropped_events",
        "dropped_quantity",
      ],
      work: checkSums,
      failed: ({ data }) => Array.isArray(data) && data.length > 0,
    },
    {
      name: "export",
      method: method.exportUsageEvents,
      summary: "Export the events that bills have taken until the end of a month, to a file.",
      details:
        "The file has one event as JSON on each line, also voided ones. The command shows their " +
        "number and the file's SHA-256, which `usage drop` takes. It changes nothing.",
      examples: ["usage export --last-month 2026-06 --to usage-2026-06.ndjson"],
      fields: {
        last_month: "the last month in UTC, YYYY-MM",
        cursor: "begin after the event with this id",
      },
      extra: [{ flags: "--to <path>", description: "the new file" }],
      work: exportUsage,
    },
    {
      name: "drop",
      method: method.dropUsageEvents,
      summary: "Drop the events of an export for good. Their ids stay taken.",
      details:
        "Bills, documents and sums stay. Single events are then in the export alone, so keep it. " +
        "After an interruption the same command goes on.",
      examples: [
        "usage drop --from usage-2026-06.ndjson --export-events 1204 " +
          "--export-checksum a7fa9d573924dfc84071a0ecc09ad0f18a7ee85e23575a517ac951ccf132664a " +
          "--reason 'Kept in the archive' --yes",
      ],
      fields: {
        export_events: "how many events the export has, as `usage export` showed it",
        export_checksum: "the SHA-256 that `usage export` showed",
        reason: "why, 1 to 500 characters; shown in the audit log",
      },
      fileFields: ["lines"],
      extra: [{ flags: "--from <path>", description: "the file of the export" }],
      work: dropUsage,
      irreversible: () => "The service has the events of this file no more.",
    },
    {
      name: "preview-void",
      method: method.previewVoidUsageEvent,
      lines: voidLines,
      summary: "Show what the usage of an event's meter and period comes to without the event.",
      details: "Nothing is changed.",
      examples: ["usage preview-void evt-2026-03-05-000017"],
      places: ["id"],
    },
    {
      name: "void",
      method: method.voidUsageEvent,
      summary: "Void an event that is not billed, so that no bill includes it.",
      details: "Its id stays taken. Report corrected usage under another id.",
      examples: ["usage void evt-2026-03-05-000017 --reason 'Counted twice by the importer' --yes"],
      places: ["id"],
      fields: {
        reason: "why, 1 to 500 characters; stored with the event",
        previewed_state: previewedStateText,
      },
      irreversible: ({ id }) => `The event ${String(id)} is never billed, and its id stays taken.`,
    },
  ],
};
