/**
 * Settings of a start on separate ports, and readers of what it prints for a new user: the keys,
 * and the commands to paste.
 */
import { freePort } from "../../../test/support/ports.ts";

/** The settings of every port that a start takes. */
export const portSettings = [
  "API_PORT",
  "ADMIN_PORT",
  "WORKER_PORT",
  "POSTGRES_PORT",
  "TEMPORAL_PORT",
  "TEMPORAL_UI_PORT",
  "DEMO_LEDGER_PORT",
] as const;

/** Each of them with a free port. */
export async function freePorts(): Promise<Record<string, string>> {
  const ports: Record<string, string> = {};
  for (const setting of portSettings) ports[setting] = String(await freePort());
  return ports;
}

/** A `curl` command as the request that it makes. */
interface CurlRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** The API keys in a text, in their order, each once. */
export function keysIn(text: string): string[] {
  return [...new Set(text.match(/\b[a-z]+_(?:live|test)_[A-Za-z0-9]+/g) ?? [])];
}

/** The commands in a text, lines that end in a backslash joined with the next. */
export function commandsIn(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^(curl|npx) /.test(line));
}

/** The request of a `curl` command; throws at an option that is not understood here. */
export function readCurl(command: string): CurlRequest {
  const [program, ...words] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? "",
  );
  if (program !== "curl") throw new Error(`${command} is no curl command`);
  const headers: Record<string, string> = {};
  let url = "";
  let body: string | null = null;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "-s") continue;
    if (word === "-H") {
      const [, name = "", value = ""] = /^([^:]+): (.*)$/.exec(words.shift() ?? "") ?? [];
      headers[name] = value;
    } else if (word === "-d") body = words.shift() ?? "";
    else if (word.startsWith("-")) throw new Error(`${word} is not understood`);
    else url = word;
  }
  return { url, method: body === null ? "GET" : "POST", headers, body };
}
