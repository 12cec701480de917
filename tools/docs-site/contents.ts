/** The table of contents: the page at `/docs`, and `/llms.txt` for programs that read it. */
import { siteName } from "./layout.ts";
import type { Page } from "./page.ts";

/** An entry: the name of the page, its address, and its subject. */
type Entry = readonly [name: string, address: string, subject: string];

const summary =
  "A platform creates subscriptions for its customers against plans, and this service computes " +
  "each amount exactly and issues the invoices in an external accounting system, the ledger.";

const groups: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  {
    title: "For platforms",
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
    title: "For operators",
    entries: [
      ["Console", "/docs/console", "sign in with a browser, sessions, and how it is kept safe"],
      ["Command line", "/docs/command-line", "an operator's day"],
      ["Ledger", "/docs/ledger", "connections, call budget, sync, the demo ledger"],
      ["Operations", "/docs/operations", "the parts, and what each page answers"],
      ["Run", "/docs/operations/run", "install, start, stop, upgrade, back up"],
      ["Temporal", "/docs/operations/temporal", "connection, schedules, encryption, versions"],
      ["Admin API", "/docs/operations/admin", "operators, roles, the audit log, Setup Mode"],
      ["Watch", "/docs/operations/watch", "probes, metrics, traces, logs, alerts"],
      ["Mend", "/docs/operations/mend", "what waits for a person, restore, keys"],
      ["Configuration", "/docs/configuration", "every setting"],
      ["Workflows", "/docs/workflows", "what each does, task queues, search attributes"],
      ["Sizing", "/docs/sizing", "what a process and a database carry"],
    ],
  },
];

/** The introduction of the reference. Its other pages are its own list. */
const reference: Entry = ["Reference", "/docs/reference", "every operation, object and event"];

/** Returns the page at `/docs`. */
export function contentsPage(referencePages: readonly Page[]): Page {
  const lists = allGroups(referencePages).map(
    ({ title, entries }) => `## ${title}\n\n${entries.map(itemOf).join("\n")}\n`,
  );
  const forPrograms =
    "For programs: the [OpenAPI document](/v1/openapi.json), [llms.txt](/llms.txt), and each " +
    "page as Markdown under its address with `.md`.";
  const markdown = `# ${siteName}\n\n${summary}\n\n${lists.join("\n")}\n${forPrograms}\n`;
  return { address: "/docs", source: null, markdown };
}

/** Returns the text of `/llms.txt` (llmstxt.org). Its links lead to the Markdown of the pages. */
export function llmsText(referencePages: readonly Page[]): string {
  const lists = allGroups(referencePages).map(({ title, entries }) => {
    const items = entries.map(([name, to, about]) => itemOf([name, `${to.slice(1)}.md`, about]));
    return `## ${title}\n\n${items.join("\n")}\n`;
  });
  const openapi = "- [OpenAPI document](v1/openapi.json): the contract for generators\n";
  return `# ${siteName}\n\n> ${summary}\n\n${lists.join("\n")}\n## Optional\n\n${openapi}`;
}

/**
 * Throws if the contents do not list a page. The page of a folder stands for the pages in it.
 */
export function assertListed(pages: readonly Page[]): void {
  const listed = [reference, ...groups.flatMap(({ entries }) => entries)].map(([, to]) => to);
  for (const { address } of pages)
    if (!listed.some((to) => address === to || address.startsWith(`${to}/`)))
      throw new Error(`tools/docs-site/contents.ts does not list ${address}`);
}

function allGroups(referencePages: readonly Page[]): typeof groups {
  const further = referencePages
    .filter(({ address }) => address !== reference[1])
    .map(({ address, markdown }): Entry => [titleOf(markdown), address, subjectOf(markdown)]);
  const [platforms, ...others] = groups;
  const all = { title: "Reference", entries: [reference, ...further] };
  return platforms === undefined ? [all] : [platforms, all, ...others];
}

function titleOf(markdown: string): string {
  return markdown.slice("# ".length, markdown.indexOf("\n"));
}

/** The first paragraph is one sentence. */
function subjectOf(markdown: string): string {
  return (markdown.split("\n\n")[1] ?? "").replace(/\.$/, "");
}

function itemOf([name, address, subject]: Entry): string {
  return `- [${name}](${address}): ${subject}`;
}
