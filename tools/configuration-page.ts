/** Writes `docs/configuration.md` out of the settings that the code reads. */
import { defaultPorts } from "../packages/dev/src/processes/ports.ts";
import { ledgers } from "../src/ledger/index.ts";
import {
  choices,
  type DescribedSetting,
  type SettingSection,
  settingSections,
  texts,
  wholeNumbers,
} from "../src/main/settings/described-settings.ts";
import { fileSettingOf, secretNames } from "../src/main/settings/secret-files.ts";

const head = `# Configuration

All settings are environment variables. An empty one counts as not set. Wrong ones stop the start
with an error that names them all, with wrong certificates and taken ports. This page is written
by \`npm run docs:config\` out of \`src/main/settings/described-settings.ts\`, by which
\`src/config.ts\` reads the settings.

- **Secrets in files:** a setting with a second name \`…_FILE\` is a secret. The second name takes
  the path of a file that has it, and a final line break does not count. Set one of the two.
- **Misspelt settings:** a set name that begins like ours and that nothing reads is logged as a
  warning at the start, with the nearest name. A start that fails names it too.
- **What is in force:** \`npm run config\` prints each setting, its value and its source
  (environment, file or default), and no secret. It exits with 1 if a setting is wrong for the API
  or a worker. A build has it as \`node dist/config.js\`.
`;

const { postgres, temporal, temporalUi, demoLedger, tryton } = defaultPorts;

const xero: SettingSection = {
  title: "Xero",
  settings: [
    {
      names: ["XERO_CLIENT_ID", "XERO_CLIENT_SECRET"],
      fallback: "none",
      underNpmStart: "the demo ledger's",
      meaning:
        "our app at Xero, for [connections by consent](ledger.md#connections-by-consent). API " +
        "and worker need both",
    },
    {
      names: ["XERO_REDIRECT_URL"],
      fallback: "`http://localhost:{ADMIN_PORT}/ledger/xero/callback`",
      meaning: "where a browser returns to, exactly as registered with the app",
    },
    {
      names: ["XERO_URL"],
      fallback: "Xero's addresses",
      meaning: "the origin of a server that speaks Xero's API",
    },
    {
      names: ["XERO_WEBHOOK_KEY"],
      fallback: "none",
      underNpmStart: "the demo ledger's",
      meaning:
        "the signing key of our app's webhook at Xero, to `https://…/ledger/webhooks/xero`. " +
        "Without it there is no such path",
    },
  ],
};

const localStart: SettingSection = {
  title: "The local start and the demo ledger",
  settings: [
    {
      names: ["POSTGRES_PORT", "TEMPORAL_PORT", "TEMPORAL_UI_PORT"],
      fallback: `${postgres}, ${temporal}, ${temporalUi}`,
      meaning: "the embedded parts of `npm start`",
    },
    {
      names: ["DATA_FOLDER"],
      fallback: "`.data`",
      meaning: "where `npm start` stores its data",
    },
    {
      names: ["DEMO_LEDGER_PORT"],
      fallback: "4010",
      underNpmStart: String(demoLedger),
      meaning: "the demo ledger's port",
    },
    {
      names: ["LOCAL_LEDGER_PORT"],
      fallback: String(tryton),
      meaning: "Tryton's port, under `npm run ledger:tryton` and `npm start -- --ledger tryton`",
    },
    {
      names: ["DEMO_LEDGER_HOST"],
      fallback: "this machine",
      meaning: "opens a demo ledger that runs alone. It has no credentials",
    },
    {
      names: ["DEMO_LEDGER_LIMITS"],
      fallback: "generous",
      meaning: "`xero`: it takes as many calls as Xero does (60 a minute, 5 at once, 5,000 a day)",
    },
    {
      names: ["DEMO_LEDGER_FAULTS"],
      fallback: "off",
      underNpmStart: "`1`",
      meaning: "`1`: faults can be ordered. `0`: they cannot",
    },
  ],
};

const foot = `## Command line

\`BILLING_ADMIN_URL\`, \`BILLING_OPERATOR_TOKEN\` (or \`BILLING_OPERATOR_TOKEN_FILE\`) and
\`BILLING_ORGANISATION\`: see [command line](command-line.md).
\`BILLING_CRASH_AT\` is for fault tests alone (\`src/crash-points.ts\`).
`;

const secret = new Set(secretNames(ledgers));

/** Returns the text of the page. */
export function configurationPage(): string {
  const sections = [...settingSections, xero, localStart].map(sectionOf);
  return [head, ...sections, foot].join("\n");
}

function sectionOf({ title, settings }: SettingSection): string {
  return [
    `## ${title}`,
    "",
    "| setting | default | meaning |",
    "|-|-|-|",
    ...settings.map(rowOf),
    "",
  ].join("\n");
}

function rowOf(setting: DescribedSetting): string {
  const names = setting.names
    .flatMap((name) => (secret.has(name) ? [name, fileSettingOf(name)] : [name]))
    .map(codeOf)
    .join(", ");
  const start = setting.underNpmStart;
  const under = start === undefined ? "" : ` (${start} under \`npm start\`)`;
  const values = setting.names.flatMap(valuesOf);
  const allowed = values.length === 0 ? "" : `. ${values.join("; ")}`;
  const fallback = setting.fallback ?? setting.names.map(fallbackOf).join(", ");
  return `| ${names} | ${fallback}${under} | ${setting.meaning}${allowed} |`;
}

function fallbackOf(name: string): string {
  if (isKey(wholeNumbers, name)) return String(wholeNumbers[name].fallback);
  if (isKey(choices, name)) return `\`${choices[name].fallback}\``;
  if (isKey(texts, name)) return `\`${texts[name]}\``;
  throw new Error(`${name} has no default: describe it`);
}

/** Returns the allowed values. Ports are not worth a word. */
function valuesOf(name: string): string[] {
  if (isKey(choices, name)) return [`One of ${choices[name].words.map(codeOf).join(", ")}`];
  if (!isKey(wholeNumbers, name) || name.endsWith("_PORT")) return [];
  const { least, most } = wholeNumbers[name];
  return [`${least} to ${most.toLocaleString("en")}`];
}

function codeOf(text: string): string {
  return `\`${text}\``;
}

function isKey<T extends object>(table: T, name: string): name is Extract<keyof T, string> {
  return Object.hasOwn(table, name);
}
