/**
 * The first start over an empty database: its first data, the text for a new user, and the
 * subscriptions of its sandbox, which are created afterwards.
 */
import {
  describeExplanation,
  type LineHeading,
} from "../../../../src/domain/explanation/for-person.ts";
import type { Explanation } from "../../../../src/domain/explanation/shown.ts";
import { describeFirstData, type StackAddresses } from "./describe-first-data.ts";
import { type CreatedFirstData, createFirstData, type FirstDataSettings } from "./first-data.ts";
import { finishHistory } from "./sandbox-clock.ts";
import { beginningOfHistory, createSandboxHistory } from "./sandbox-history.ts";

type FirstStartSettings = FirstDataSettings & StackAddresses;

/** Writes a line of the log. */
type Log = (line: string) => void;

const notice =
  "The sandbox gets its subscriptions now, one in each state. A line here says when it has them.";

const incomplete = "The sandbox has not all of its subscriptions";

const remedy = "It works without them. An empty data folder gets them.";

/**
 * Creates the first data, and returns the text. Null if the database has an organisation already.
 * The sandbox's history goes on in the background. The sandbox works without it, so an error there
 * is only a line of the log.
 */
export async function createFirstStart(
  settings: FirstStartSettings,
  log: Log,
): Promise<string | null> {
  const sandboxClock = beginningOfHistory(new Date());
  const data = await createFirstData({ ...settings, sandboxClock });
  const history = data === null ? resumeTime(settings, log) : createHistory(settings, data, log);
  history.catch((error: unknown) => {
    const cause = error instanceof Error ? error.message : String(error);
    log(`${incomplete}: ${cause}. ${remedy}`);
  });
  return data === null ? null : `${describeFirstData(data, settings)}\n${notice}`;
}

async function createHistory(
  settings: FirstStartSettings,
  { sandbox, operatorToken }: CreatedFirstData,
  log: Log,
): Promise<void> {
  const began = performance.now();
  await createSandboxHistory({ ...settings, sandbox, operatorToken });
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  log(`The sandbox has a subscription in each state (${seconds} s).`);
  const lines = await explainedInvoice(settings.baseUrl, sandbox.apiKey);
  log(`\nHow one of its invoices came about (docs/explanations.md):\n\n  ${lines.join("\n  ")}\n`);
}

/** The members of an invoice that are read here. */
interface ReadInvoice {
  readonly id: string;
  readonly lines: readonly (LineHeading & { readonly kind: string })[];
}

/** Returns how the newest invoice over usage came about, for a person. */
async function explainedInvoice(baseUrl: string, key: string): Promise<readonly string[]> {
  const headers = { Authorization: `Bearer ${key}` };
  const get = async (path: string) => (await fetch(`${baseUrl}/v1/${path}`, { headers })).json();
  const { data } = (await get("invoices?limit=100")) as { readonly data: readonly ReadInvoice[] };
  const invoice = data.find(({ lines }) => lines.some(({ kind }) => kind === "usage"));
  if (invoice === undefined) throw new Error("no invoice has usage");
  const explanation = (await get(`invoices/${invoice.id}/explanation`)) as Explanation;
  return describeExplanation(explanation, invoice.lines);
}

/** Gives the sandbox real time if an earlier start ended during its history. */
async function resumeTime({ databaseUrl }: FirstStartSettings, log: Log): Promise<void> {
  if (!(await finishHistory(databaseUrl))) return;
  log(
    `${incomplete}, because an earlier start ended too soon. ${remedy} Its clock shows real time.`,
  );
}
