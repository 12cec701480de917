/** All commands: they cover the whole contract, and every example runs. */
import { create, type DescField, type DescMessage, getOption } from "@bufbuild/protobuf";
import { field as rulesExtension } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect } from "vitest";
import { field as fieldExtension } from "../../../src/gen/proto/billing/options/v1/options_pb.ts";
import { textFormats } from "../../../src/services/text-formats.ts";
import { enumJsonName } from "../../../src/transport/rpc/validation/enum-words.ts";
import { createValidate, type Validate } from "../../../src/transport/rpc/validation/validate.ts";
import type { Noun, Verb } from "../src/noun.ts";
import { nouns } from "../src/nouns/index.ts";
import { status } from "../src/nouns/now/status.ts";
import { listen } from "../src/nouns/platform/forward-events.ts";
import { buildProgram } from "../src/program.ts";
import { optionText } from "../src/request-options.ts";
import { adminServices, run, cliTest as test } from "./calls-fixture.ts";

const verbs: readonly (readonly [string, Verb])[] = [
  ...nouns.flatMap((noun: Noun) =>
    noun.verbs.map((verb) => [`${noun.name} ${verb.name}`, verb] as const),
  ),
  ["listen", listen],
  ["status", status],
];

test("every method of every admin service has a command", () => {
  const methods = adminServices
    .flatMap((service) => service.methods.map((method) => `${method}`))
    .sort();
  const called = verbs.flatMap(([, { method, also }]) => [
    method,
    ...(also === undefined ? [] : [also]),
  ]);
  expect([...new Set(called.map((method) => `${method}`))].sort()).toEqual(methods);
});

describe.each(verbs)("%s", (name, verb) => {
  test("has an option, an argument or a file for every field of the request", () => {
    const isSettable = (field: DescField): boolean =>
      optionText(verb, field) !== undefined ||
      verb.places?.includes(field.name) === true ||
      getOption(field, fieldExtension).secret ||
      ((verb.takesFile === true || verb.work !== undefined) &&
        verb.fileFields?.includes(field.name) === true);
    expect(
      verb.method.input.fields.filter((field) => !isSettable(field)).map((field) => field.name),
    ).toEqual([]);
  });

  test("names only fields of the request and columns of the response", () => {
    const fields = verb.method.input.fields.map((field) => field.name);
    const named = [
      ...Object.keys(verb.fields ?? {}),
      ...(verb.places ?? []),
      ...(verb.fileFields ?? []),
    ];
    expect(named.filter((field) => !fields.includes(field))).toEqual([]);
    const row = verb.method.output.fields.find(
      (field) => field.name === (verb.rows ?? "data"),
    )?.message;
    for (const column of verb.columns ?? []) {
      if (typeof column === "string")
        expect(row?.fields.map((field) => field.name)).toContain(column.split(".")[0]);
    }
  });

  test("has examples in its help, and each of them runs", async ({ server }) => {
    const help = await run([...name.split(" "), "--help"]);
    expect(help.exitCode).toBe(0);
    expect(verb.examples.length).toBeGreaterThan(0);
    const required = JSON.stringify(requiredMembers(verb));
    server.answer({
      ListOrganisations: () => ({ data: [{ id: "found" }] }),
      ListOperators: () => ({ data: [{ id: "found", name: "Ada Lovelace" }] }),
      ListPlans: () => ({ data: [{ id: "found" }] }),
      ListMeters: () => ({ data: [{ id: "found" }] }),
      ListCharges: () => ({ data: [{ id: "found" }] }),
      ListCustomers: () => ({ data: [{ id: "found" }] }),
      ListInvoices: () => ({ data: [{ id: "found" }] }),
      ListCreditNotes: () => ({ data: [{ id: "found" }] }),
      ExplainDocument: () => ({ explanation: { body: '{"reason":"issued_before"}' } }),
      PreviewCreateSubscription: () => ({ preview: {} }),
      PreviewChangeUnits: () => ({ preview: {} }),
      PreviewEndSubscription: () => ({ preview: {} }),
      PreviewRestoreSubscription: () => ({ preview: {} }),
      PreviewRetryDocument: () => ({ document: {} }),
      PreviewVoidUsageEvent: () => ({ event: { meter: {}, period: {} }, before: {}, after: {} }),
      GetUpcomingInvoice: () => ({ upcomingInvoice: {} }),
      GetInvoice: () => ({ invoice: {} }),
      GetDocument: () => ({ document: {} }),
      GetCreditNote: () => ({ creditNote: {} }),
      ListLedgerContacts: () => ({ data: [{ id: "contact" }] }),
    });
    const json = verb.name === "import" ? '{"contacts":[{"ledger_contact_id":"1"}]}' : required;
    for (const example of verb.examples) {
      expect(help.out).toContain(`$ billing ${example}`);
      const words = wordsOf(example);
      if (verb.isDefault !== true || words[1] === verb.name)
        expect(words.join(" ")).toMatch(new RegExp(`^${name}( |$)`));
      const files = Object.fromEntries(words.map((word) => [word, fileText(word, json)]));
      const ended = await run(words, { env: server.env, files, answers: ["the secret", "y"] });
      expect([0, 1], `${example}: ${ended.err}`).toContain(ended.exitCode);
      expect(server.received.map(({ method }) => method)).toContain(verb.method.name);
    }
  });
});

test("the server accepts every word of an option's choices", async () => {
  const validate = createValidate(
    verbs.map(([, { method }]) => method.input),
    textFormats,
  );
  const program = buildProgram({ ...process, env: {} } as never, () => undefined);
  let words = 0;
  for (const [name, { method }] of verbs) {
    const [noun, verb] = name.split(" ");
    const command = program.commands
      .find((one) => one.name() === noun)
      ?.commands.find((one) => one.name() === verb);
    for (const field of method.input.fields.filter((one) => one.fieldKind === "enum")) {
      const flag = `--${field.name.replaceAll("_", "-")}`;
      for (const word of command?.options.find(({ long }) => long === flag)?.argChoices ?? []) {
        words += 1;
        const value = field.enum?.values.find((one) => enumJsonName(one) === word);
        const number = value?.number || null;
        expect(
          faultOf(validate, method.input, { [field.localName]: number }),
          `${name} ${flag} ${word}`,
        ).not.toMatch(new RegExp(`^${field.name}:`));
      }
    }
  }
  expect(words).toBeGreaterThan(20);
});

/** The server's refusal of a request with these members. Empty if the request is valid. */
function faultOf(
  validate: Validate,
  schema: DescMessage,
  members: Record<string, unknown>,
): string {
  try {
    validate(schema, create(schema, members));
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test("only verbs that write have --idempotency-key, and every verb has --json", () => {
  const reads = new RegExp(
    "^(list|get|tail|events|timeline|whoami|contacts|options|check|authorisation|status|unknown" +
      "|deliver(?:ies|y)|preview-.+|upcoming|leftovers|export|explain|count|find)$",
  );
  const program = buildProgram({ ...process, env: {} } as never, () => undefined);
  for (const noun of program.commands.filter(({ commands }) => commands.length > 0)) {
    for (const verb of noun.commands) {
      const flags = verb.options.map(({ long }) => long);
      expect(flags).toContain("--json");
      if (reads.test(verb.name())) expect(flags).not.toContain("--idempotency-key");
      else expect(flags).toContain("--idempotency-key");
    }
  }
});

/** The members without which a request is not sent. */
function requiredMembers({ method, takesFile }: Verb): Record<string, unknown> {
  if (takesFile !== true) return {};
  const needed = method.input.fields.filter(
    (field) =>
      getOption(field, rulesExtension).required && !getOption(field, fieldExtension).secret,
  );
  return Object.fromEntries(
    needed.map((field) => {
      const [, word] = field.enum?.values ?? [];
      return [field.name, word === undefined ? "1" : enumJsonName(word)];
    }),
  );
}

/** The text of a file of an example, by its name: an export of usage has 1204 events. */
function fileText(name: string, json: string): string {
  if (name.endsWith(".ndjson")) return "{}\n".repeat(1_204);
  return name.endsWith(".txt") ? "secret" : json;
}

/** An example, split as by a shell, without comments and redirections. */
function wordsOf(example: string): string[] {
  const [bare = ""] = example.split(/ +(?:#|>|<)/);
  return [...bare.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) =>
    (quoted ?? plain ?? "").replace(
      "$BILLING_ORGANISATION",
      "0199a0b2-0000-7000-8000-000000000001",
    ),
  );
}
