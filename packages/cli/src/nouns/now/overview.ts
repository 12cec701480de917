/** `billing overview`: the figures of an organisation at a glance. ADMIN-19 */
import { OverviewService } from "../../../../../src/gen/proto/billing/admin/v1/overview_pb.ts";
import type { Noun, Work } from "../../noun.ts";
import { layNamed } from "../../output/lay-table.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { counted, listOf, minuteOf, money, secondOf, sumOf } from "../../output/words.ts";

/** Shows the figures. */
export const overview: Noun = {
  name: "overview",
  summary: "Show the figures of an organisation at a glance",
  verbs: [
    {
      name: "get",
      isDefault: true,
      method: OverviewService.method.getOverview,
      summary:
        "Show recurring value, renewals, documents, ledger and webhooks. " +
        "`billing overview` is enough.",
      details:
        "A worker reckons the figures each minute while somebody reads them, else each hour. " +
        "-o json has the renewals by day.",
      examples: ["overview", "overview get --json"],
      lines: overviewLines,
    },
  ],
};

/** Returns the lines of the figures. */
export function overviewLines(response: Json, { terminal }: Work): readonly string[] {
  const isReckoned = response.as_of !== undefined;
  const rows: readonly (readonly [string, string])[] = [
    ...(isReckoned ? figures(response) : []),
    ["ledger", ledgerOf(memberOf(response, "ledger"))],
    ...listOf(response.endpoints).map((endpoint, index) => {
      return [index === 0 ? "webhooks" : "", endpointOf(endpoint)] as const;
    }),
  ];
  return [
    isReckoned
      ? `As of ${secondOf(response.as_of)}, on ${String(response.today)}.`
      : "The figures are not reckoned yet. A worker does it within a minute.",
    "",
    ...layNamed(terminal, rows),
  ];
}

function figures(response: Json): readonly (readonly [string, string])[] {
  const today = String(response.today);
  const days = listOf(response.renewals);
  const within = (before: string, after: string) =>
    days.filter(({ date }) => String(date) >= before && String(date) <= after);
  const billed = renewals(days, "billed");
  const failed = renewals(days, "failed");
  return [
    ["a month", monthOf(listOf(response.recurring))],
    ["subscriptions", subscriptionsOf(response)],
    ["due in 7 days", renewals(within(today, dayAfter(today, 7)), "due") ?? "nothing"],
    ["last 30 days", `${billed ?? "nothing"} billed${failed === null ? "" : `, ${failed} failed`}`],
    ["documents", documentsOf(response)],
  ];
}

function memberOf(json: Json, name: string): Json {
  const { [name]: member } = json;
  return isObject(member) ? member : {};
}

function dayAfter(day: string, days: number): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, day.length);
}

function monthOf(recurring: readonly Json[]): string {
  if (recurring.length === 0) return "nothing";
  return recurring
    .map(
      ({ currency, per_month: amount, subscriptions }) =>
        `${money(currency, amount)} of ${counted(subscriptions, "subscription")}`,
    )
    .join(", ");
}

function subscriptionsOf(response: Json): string {
  const counts = listOf(response.subscriptions).map(
    ({ status, count }) => `${Number(count).toLocaleString("en")} ${String(status)}`,
  );
  const { started, ended, parked } = response;
  const change = `${started} began and ${ended} ended in 30 days`;
  const parts = [counts.length === 0 ? "none" : counts.join(", "), change];
  return [...parts, ...(parked === 0 ? [] : [`${parked} parked`])].join("; ");
}

/** `2 renewals, NZD 250.00`, or null without any. */
function renewals(days: readonly Json[], part: string): string | null {
  const all = days.map((day) => memberOf(day, part));
  const count = all.reduce((sum, { count }) => sum + Number(count ?? 0), 0);
  if (count === 0) return null;
  const values = Map.groupBy(
    all.flatMap(({ values }) => listOf(values)),
    ({ currency }) => String(currency),
  );
  const amounts = [...values].map(([currency, some]) =>
    money(currency, sumOf(some.map(({ amount }) => amount))),
  );
  return [counted(count, "renewal"), ...amounts].join(", ");
}

function documentsOf(response: Json): string {
  const counts = listOf(response.documents).map(({ state, count }) => `${count} ${String(state)}`);
  const { count, oldest } = memberOf(response, "not_in_ledger");
  const absent =
    count === undefined || count === 0
      ? "all are in the ledger"
      : `${count} not in the ledger, the oldest since ${minuteOf(oldest)}`;
  return [...(counts.length === 0 ? [] : [counts.join(", ")]), absent].join("; ");
}

function ledgerOf({ state, reason, ...ledger }: Json): string {
  return [
    String(state),
    ...(reason === undefined ? [] : [String(reason)]),
    ...(ledger.last_sync === undefined ? [] : [`last sync ${minuteOf(ledger.last_sync)}`]),
    ...(ledger.calls_left === undefined
      ? []
      : [`${ledger.calls_left} of ${ledger.calls_limit} calls left today`]),
  ].join(", ");
}

function endpointOf({ url, status, failed, waiting, failing_since: since }: Json): string {
  return [
    `${String(url)} ${String(status)}`,
    ...(failed === 0 ? [] : [`${failed} failed in 24 hours`]),
    ...(waiting === 0 ? [] : [`${waiting} waiting`]),
    ...(since === undefined ? [] : [`failing since ${minuteOf(since)}`]),
  ].join(", ");
}
