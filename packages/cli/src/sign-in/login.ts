/** The commands `login` and `logout`: keep and remove a profile. */
import type { Command } from "commander";
import { OperatorService } from "../../../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import { callJson } from "../call-json.ts";
import { connect } from "../connection.ts";
import { UsageError } from "../failures.ts";
import { isObject } from "../output/message-json.ts";
import type { Terminal } from "../terminal.ts";
import {
  addressFor,
  defaultProfile,
  type Profile,
  readProfiles,
  writeProfiles,
} from "./profiles.ts";

interface LoginOptions {
  readonly profile?: string;
  readonly url?: string;
  readonly organisation?: string;
}

const loginText = [
  "Keep the address of an admin API and an operator's token in a profile, after a call with it.",
  "",
  "The token is read from the standard input, or from a prompt that does not show it. The file is",
  "subscription-billing/profiles.json in $XDG_CONFIG_HOME or ~/.config, and only you can read it.",
  "BILLING_ADMIN_URL, BILLING_OPERATOR_TOKEN and BILLING_ORGANISATION win over a profile.",
].join("\n");

const loginExamples = `
Examples:
  $ billing login
  $ billing login --profile test --url https://billing-admin.example < token.txt
`;

/** Adds both commands. */
export function addLogin(program: Command, terminal: Terminal): void {
  program
    .command("login")
    .summary("Keep an address and a token in a profile.")
    .description(loginText)
    .option("--profile <name>", "the name of the profile; BILLING_PROFILE or default")
    .option("--url <address>", "address of the admin API")
    .option("--organisation <text>", "the organisation of its commands, by id or name")
    .addHelpText("after", loginExamples)
    .action((options: LoginOptions) => login(terminal, options));
  program
    .command("logout")
    .description("Remove a profile. Its token stays valid: `operator-tokens revoke` ends it.")
    .option("--profile <name>", "the name of the profile; BILLING_PROFILE or default")
    .action((options: LoginOptions) => logout(terminal, options));
}

async function login(terminal: Terminal, options: LoginOptions): Promise<void> {
  const { env, interactive } = terminal;
  const name = nameOf(terminal, options);
  const url = addressFor(env, options.url);
  const token = interactive
    ? await terminal.ask(`The operator's token for ${url} (not shown): `, true)
    : await terminal.read("-");
  const profile: Profile = {
    ...{ url, token: token.trim() },
    ...(options.organisation === undefined ? {} : { organisation: options.organisation }),
  };
  const own = { BILLING_OPERATOR_TOKEN: profile.token };
  const connection = await connect({ ...terminal, env: own }, { url });
  const { operator } = await callJson(connection, OperatorService.method.getCurrentOperator, {});
  const file = await writeProfiles(env, { ...(await readProfiles(env)), [name]: profile });
  const who = isObject(operator) ? `${String(operator.name)}, ${String(operator.role)}` : "";
  terminal.out(`Signed in to ${url} as ${who}. The profile ${name} is in ${file}.\n`);
}

async function logout(terminal: Terminal, options: LoginOptions): Promise<void> {
  const name = nameOf(terminal, options);
  const { [name]: profile, ...others } = await readProfiles(terminal.env);
  if (profile === undefined) throw new UsageError(`There is no profile ${name}`);
  await writeProfiles(terminal.env, others);
  terminal.out(`The profile ${name} is removed. Its token stays valid until it is revoked.\n`);
}

function nameOf({ env }: Terminal, { profile }: LoginOptions): string {
  return profile ?? (env.BILLING_PROFILE || defaultProfile);
}
