/**
 * The settings in force: each with its value, and whether the environment, a file or the default
 * sets it. Secrets are masked.
 */
import { loadClientConfigProfile } from "@temporalio/envconfig";
import type { LedgerKinds } from "../../ledger/port/ledger-kind.ts";
import { callbackPathOf, settingNamesOf } from "../../ledger/port/oauth-app.ts";
import { choices, settingSections, texts, wholeNumbers } from "./described-settings.ts";
import { fileSettingOf, resolveSecrets, secretNames } from "./secret-files.ts";

/** A setting in force. A value of null means that it is not set and that no default replaces it. */
export interface EffectiveSetting {
  readonly name: string;
  readonly value: string | null;
  readonly source: "environment" | "file" | "default";
}

/** What is shown in place of a secret. */
export const mask = "(secret)";

/** Returns the names of all settings, with those of these kinds of ledger. */
export function settingNames(kinds: LedgerKinds): readonly string[] {
  const common = settingSections.flatMap(({ settings }) => settings.flatMap(({ names }) => names));
  return [...common, ...Object.keys(kinds).flatMap((kind) => Object.values(settingNamesOf(kind)))];
}

/** Returns the settings of API and worker, in the order of the documentation. */
export function effectiveSettings(
  env: NodeJS.ProcessEnv,
  kinds: LedgerKinds,
): readonly EffectiveSetting[] {
  const secrets = new Set(secretNames(kinds));
  const { paths, env: resolved } = resolveSecrets(env, [...secrets]);
  const profile = profileValues(resolved);
  return settingNames(kinds).map((name): EffectiveSetting => {
    const path = paths.get(name);
    const shown = (value: string) => (secrets.has(name) ? masked(name, value) : value);
    if (path !== undefined) {
      const value = `${shown(resolved[name] ?? "")} of ${fileSettingOf(name)}=${path}`;
      return { name, value, source: "file" };
    }
    const setting = resolved[name];
    if (setting)
      return { name, value: isPemText(name) ? mask : shown(setting), source: "environment" };
    const ofProfile = profile.get(name);
    if (ofProfile !== undefined) return { name, value: shown(ofProfile), source: "file" };
    return { name, value: defaultOf(name, resolved, kinds), source: "default" };
  });
}

/** A private key may be set as a text. A certificate is public, and too long to show. */
function isPemText(name: string): boolean {
  return name.endsWith("_DATA");
}

/** The address of the database is shown without its password, because operators compare it. */
function masked(name: string, value: string): string {
  if (name !== "DATABASE_URL" || !URL.canParse(value)) return mask;
  const url = new URL(value);
  if (url.password !== "") url.password = "secret";
  for (const key of url.searchParams.keys())
    if (/pass/i.test(key)) url.searchParams.set(key, "secret");
  return url.href;
}

function defaultOf(name: string, env: NodeJS.ProcessEnv, kinds: LedgerKinds): string | null {
  if (name === "WORKER_PORT" || name === "METRICS_PORT") return null;
  if (isKey(wholeNumbers, name)) return String(wholeNumbers[name].fallback);
  if (isKey(choices, name)) return choices[name].fallback;
  if (isKey(texts, name)) return texts[name];
  if (name === "TEMPORAL_ADDRESS") return "localhost:7233";
  if (name === "TEMPORAL_NAMESPACE") return "default";
  const kind = Object.keys(kinds).find((one) => settingNamesOf(one).redirectUrl === name);
  if (kind === undefined) return null;
  const scheme = env.TLS_CERT_FILE ? "https" : "http";
  const port = env.ADMIN_PORT || wholeNumbers.ADMIN_PORT.fallback;
  return `${scheme}://localhost:${port}${callbackPathOf(kind)}`;
}

/** Returns what the profile file of Temporal's library sets. A wrong file is a fault elsewhere. */
function profileValues(env: NodeJS.ProcessEnv): ReadonlyMap<string, string> {
  const variables = ["TEMPORAL_CONFIG_FILE", "TEMPORAL_PROFILE", "HOME", "XDG_CONFIG_HOME"];
  const entries = variables.flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  try {
    const { address, namespace, apiKey, tls } = loadClientConfigProfile({
      overrideEnvVars: Object.fromEntries(entries),
    });
    const found: readonly (readonly [string, string | undefined])[] = [
      ["TEMPORAL_ADDRESS", address],
      ["TEMPORAL_NAMESPACE", namespace],
      ["TEMPORAL_API_KEY", apiKey],
      ["TEMPORAL_TLS_SERVER_NAME", tls?.serverName],
      ["TEMPORAL_TLS_CLIENT_CERT_PATH", pathOf(tls?.clientCert)],
      ["TEMPORAL_TLS_CLIENT_KEY_PATH", pathOf(tls?.clientKey)],
      ["TEMPORAL_TLS_SERVER_CA_CERT_PATH", pathOf(tls?.serverCACert)],
    ];
    return new Map(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  } catch {
    return new Map();
  }
}

function pathOf(source: object | undefined): string | undefined {
  if (source === undefined) return undefined;
  return "path" in source ? String(source.path) : "a text of the profile";
}

function isKey<T extends object>(table: T, name: string): name is Extract<keyof T, string> {
  return Object.hasOwn(table, name);
}
