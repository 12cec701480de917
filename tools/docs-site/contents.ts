/** The order of the pages: the menu, the page at `/docs`, and `/llms.txt` for programs. */
import { posix } from "node:path";
import { type Page, titleOf } from "./page.ts";

/**
 * For whom a site is. Platforms call the public port and see their pages there. Operators reach the
 * admin port and see all pages.
 */
export type Reader = "platforms" | "operators";

/** The name of the site. */
export const siteName = "Subscription billing";

/** A page in the menu, with the pages below it. */
export interface Place {
  readonly page: Page;
  readonly name: string;
  readonly subject: string;
  readonly below: readonly Place[];
}

/** A group of the menu. */
export interface PlaceGroup {
  readonly title: string;
  readonly places: readonly Place[];
}

/** An entry: the name of the page, its address, and its subject. */
type Entry = readonly [name: string, address: string, subject: string];

interface Group {
  readonly title: string;
  readonly reader: Reader;
  readonly entries: readonly Entry[];
}

const summary =
  "A platform creates subscriptions for its customers against plans, and this service computes " +
  "each amount exactly and issues the invoices in an external accounting system, the ledger.";

const picture =
  "![The console: what needs a person, recurring value, renewals by day]" +
  "(/docs/images/console/overview.png)";

const referenceAddress = "/docs/reference";

const groups: readonly Group[] = [
  {
    title: "For platforms",
    reader: "platforms",
    entries: [
      ["Start", "/docs/start", "what the service is, a local start, and the first calls"],
      ["Guide", "/docs/guide", "units, previews, end, restore, usage, retries"],
      ["Clients", "/docs/clients", "TypeScript, Python, Go and Java"],
      ["TypeScript client", "/docs/typescript-client", "keys, retries, pages and errors built in"],
      ["gRPC", "/docs/grpc", "the protos as a package, with programs"],
      ["Webhooks", "/docs/webhooks", "receive and verify events"],
      ["Explanations", "/docs/explanations", "how an amount says why it is what it is"],
      ["Errors", "/docs/errors", "each code: what it means, what to do, whether to retry"],
      ["Rules", "/docs/rules", "each rule of the service under an id"],
    ],
  },
  {
    title: "Reference",
    reader: "platforms",
    entries: [["Overview", referenceAddress, "every operation, object and event"]],
  },
  {
    title: "For operators",
    reader: "operators",
    entries: [
      ["Console", "/docs/console", "sign in with a browser, sessions, and how it is kept safe"],
      ["Command line", "/docs/command-line", "an operator's day"],
      ["Ledger", "/docs/ledger", "connections, call budget, sync, the demo ledger"],
      ["Operations", "/docs/operations", "the parts, and what each page answers"],
      ["Run", "/docs/operations/run", "install, start, stop, upgrade, back up"],
      ["Temporal", "/docs/operations/temporal", "connection, schedules, encryption, versions"],
      ["Admin API", "/docs/operations/admin", "operators, roles, the audit log, Setup Mode"],
      ["Rules of the admin API", "/docs/rules/admin", "each rule of this port under an id"],
      ["Watch", "/docs/operations/watch", "probes, metrics, traces, logs, alerts"],
      ["Mend", "/docs/operations/mend", "what waits for a person, restore, keys"],
      ["Configuration", "/docs/configuration", "every setting"],
      ["Workflows", "/docs/workflows", "what each does, task queues, search attributes"],
      ["Sizing", "/docs/sizing", "what a process and a database carry"],
    ],
  },
];

/**
 * Returns the groups of a reader's menu. A page that is not listed stands below the page of its
 * folder. Throws if that one is not there either.
 */
export function placesOf(pages: readonly Page[], reader: Reader): readonly PlaceGroup[] {
  const listed = new Set(groups.flatMap(({ entries }) => entries.map(([, address]) => address)));
  const below = (address: string): readonly Place[] =>
    pages
      .filter((page) => !listed.has(page.address) && posix.dirname(page.address) === address)
      .map((page) => ({
        page,
        name: page.name ?? titleOf(page),
        subject: subjectOf(page),
        below: below(page.address),
      }));
  const all = groups.map(({ entries, ...group }) => ({
    ...group,
    places: entries.flatMap(([name, address, subject]) => {
      const page = pages.find((candidate) => candidate.address === address);
      if (page === undefined) return [];
      // The parts of the reference stand beside its first page.
      return address === referenceAddress
        ? [{ page, name, subject, below: [] }, ...below(address)]
        : [{ page, name, subject, below: below(address) }];
    }),
  }));
  const placed = new Set(inOrder(all).map(({ page }) => page));
  const forgotten = pages.find((page) => !placed.has(page));
  if (forgotten !== undefined)
    throw new Error(`tools/docs-site/contents.ts does not list ${forgotten.address}`);
  return all.filter((group) => reader === "operators" || group.reader === reader);
}

/** Returns the places one after the other, each before those below it. */
export function inOrder(all: readonly PlaceGroup[]): readonly Place[] {
  const withBelow = (place: Place): readonly Place[] => [place, ...place.below.flatMap(withBelow)];
  return all.flatMap(({ places }) => places.flatMap(withBelow));
}

/** Returns the page at `/docs`. */
export function contentsPage(all: readonly PlaceGroup[], reader: Reader): Page {
  const lists = all.map(({ title, places }) => {
    const items = places.map(
      ({ page, name, subject }) => `- [${name}](${page.address})\\\n  ${subject}`,
    );
    return `## ${title}\n\n${items.join("\n")}`;
  });
  const others =
    reader === "operators"
      ? "These pages are on the admin port. The public port has those for platforms."
      : "The pages for operators are at `/docs` on the admin port.";
  const forPrograms =
    "For programs: the OpenAPI document as [JSON](/v1/openapi.json) and " +
    "[YAML](/v1/openapi.yaml), [llms.txt](/llms.txt), and each page as Markdown under its " +
    "address with `.md`.";
  const parts = [`# ${siteName}`, summary, picture, ...lists, forPrograms, others];
  return { address: "/docs", source: null, markdown: `${parts.join("\n\n")}\n` };
}

/** Returns the text of `/llms.txt` (llmstxt.org). Its links lead to the Markdown of the pages. */
export function llmsText(all: readonly PlaceGroup[], hasOpenapi: boolean): string {
  const lists = all.map(({ title, places }) => {
    const items = places.map(
      ({ page, name, subject }) => `- [${name}](${page.address.slice(1)}.md): ${subject}`,
    );
    return `## ${title}\n\n${items.join("\n")}\n`;
  });
  const openapi = "\n## Optional\n\n- [OpenAPI document](v1/openapi.json): for generators\n";
  return `# ${siteName}\n\n> ${summary}\n\n${lists.join("\n")}${hasOpenapi ? openapi : ""}`;
}

/** The first paragraph of a generated page is one sentence. */
function subjectOf({ markdown }: Page): string {
  return (markdown.split("\n\n")[1] ?? "").replace(/\.$/, "");
}
