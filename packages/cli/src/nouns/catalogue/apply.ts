/** `billing apply`: makes a catalogue as a file says. CATALOGUE-1, CATALOGUE-7, CATALOGUE-8 */
import {
  ChargeService,
  PlanService,
} from "../../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { callJson } from "../../call-json.ts";
import { confirm } from "../../confirm.ts";
import { UsageError } from "../../failures.ts";
import type { Verb, Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { clean } from "../../output/table.ts";
import { counted } from "../../output/words.ts";
import { compare, type Step, shownText } from "./catalogue-diff.ts";

/** Creates and changes what differs, after it is shown and confirmed. */
export const apply: Verb = {
  name: "apply",
  method: PlanService.method.createPlan,
  also: ChargeService.method.createCharge,
  summary: "Make the catalogue as a file says: charges, meters and plans, each by its code.",
  details: [
    "It shows what it would create and change, asks, and then does it. What the file does not name",
    "stays as it is, and nothing is deleted. A repeat changes nothing. The members are those of",
    "`plans create`, `charges create` and `meters create`, and status. A file in YAML or JSON:",
    "\n\n  meters:\n    - {code: api-calls, name: API calls, unit_label: call}",
    "\n  plans:\n    - code: team\n      name: Team\n      type: per_unit\n      price: 12.50",
    "\n      status: active\n      meters: [{meter: api-calls, type: per_unit, price: 0.002}]",
  ].join(" "),
  examples: ["apply -f catalogue.yaml --dry-run", "apply -f catalogue.yaml --yes"],
  fileFields: PlanService.method.createPlan.input.fields.map(({ name }) => name),
  extra: [
    { flags: "-f, --file <path>", description: "the file, or - for the standard input" },
    { flags: "--dry-run", description: "only show what would be done" },
    { flags: "--yes", description: "do not ask for confirmation" },
  ],
  work: applyCatalogue,
  lines: ({ created, changed, unchanged, is_preview: isPreview }) =>
    isPreview === true
      ? [`Nothing is done: ${created} to create, ${changed} to change, ${unchanged} as they are.`]
      : [`${created} created, ${changed} changed, ${unchanged} as they were.`],
};

async function applyCatalogue(work: Work): Promise<Json> {
  const { terminal, extra } = work;
  if (typeof extra.file !== "string") throw new UsageError("--file is required: the catalogue");
  const { readCatalogue } = await import("./catalogue-file.ts");
  const steps = await compare(work, readCatalogue(extra.file, await terminal.read(extra.file)));
  const due = steps.filter(({ calls }) => calls.length > 0);
  const created = due.filter(({ id }) => id === null).length;
  const counts = {
    created,
    changed: due.length - created,
    unchanged: steps.length - due.length,
  };
  for (const line of due.flatMap(linesOf)) terminal.err(`${clean(line)}\n`);
  if (extra.dryRun === true) return { ...counts, is_preview: true };
  if (due.length === 0) return counts;
  await confirm(terminal, `${counted(due.length, "object")} as above.`, extra.yes === true);
  for (const step of due) await perform(work, step);
  return counts;
}

async function perform({ connection, request }: Work, { id, calls }: Step): Promise<void> {
  const { organisation = "" } = request;
  let of: Json = id === null ? {} : { id };
  for (const call of calls) {
    const answer = await callJson(connection, call.method, {
      ...{ organisation },
      ...of,
      ...call.request,
    });
    of = { id: answer.id ?? "" };
  }
}

function linesOf({ wanted, id, differences }: Step): readonly string[] {
  const { kind, code, members, status } = wanted;
  const name = `${kind.name} ${code}`;
  if (id !== null) return [`~ ${name}`, ...differences.map((text) => `    ${text}`)];
  const all = { ...members, ...(status === null ? {} : { status }) };
  const texts = Object.entries(all).filter(([member]) => member !== "code");
  return [`+ ${name}`, ...texts.map(([member, value]) => `    ${member}: ${shownText(value)}`)];
}
