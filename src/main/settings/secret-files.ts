/**
 * Secrets from files: each secret setting can be set as `NAME_FILE`, the path of a file that has
 * it. Orchestrators mount secrets so, and environments are shown in more places than files.
 */
import { readFileSync } from "node:fs";
import type { LedgerKinds } from "../../ledger/port/ledger-kind.ts";
import { settingNamesOf } from "../../ledger/port/oauth-app.ts";
import { secrets } from "./described-settings.ts";

/** Returns the names of all secrets, with those of these kinds of ledger. */
export function secretNames(kinds: LedgerKinds): readonly string[] {
  const ofLedgers = Object.entries(kinds).flatMap(([kind, { app, webhooks }]) => {
    const { clientSecret, webhookKey } = settingNamesOf(kind);
    return [...(app === null ? [] : [clientSecret]), ...(webhooks === null ? [] : [webhookKey])];
  });
  return [...secrets, ...ofLedgers];
}

/** Returns the name of the setting that has the path of a secret's file. */
export function fileSettingOf(secret: string): string {
  return `${secret}_FILE`;
}

/**
 * Reads the secrets whose file is set. Returns the settings with these secrets in place, the path
 * of each by the secret's name, and what was wrong with the files. A final line break does not
 * belong to the secret. A fault names the setting and the path, and never the content.
 */
export function resolveSecrets(env: NodeJS.ProcessEnv, names: readonly string[]) {
  const paths = new Map<string, string>();
  const faults: string[] = [];
  const values: Record<string, string> = {};
  for (const name of names) {
    const setting = fileSettingOf(name);
    const path = env[setting];
    if (!path) continue;
    paths.set(name, path);
    if (env[name]) faults.push(`${name} and ${setting} are both set: set one of them.`);
    const content = contentOf(path);
    if (content === null) faults.push(`${setting}=${path} cannot be read.`);
    else if (content === "") faults.push(`${setting}=${path} is empty.`);
    else values[name] = content;
  }
  return { env: paths.size === 0 ? env : { ...env, ...values }, paths, faults };
}

/**
 * Returns the environment with the secrets of files in place of the paths, for programs that read
 * single settings or start others. Throws an Error with all faults.
 */
export function withSecrets(
  env: NodeJS.ProcessEnv,
  names: readonly string[] = secrets,
): NodeJS.ProcessEnv {
  const resolved = resolveSecrets(env, names);
  if (resolved.faults.length > 0) throw new Error(resolved.faults.join("\n"));
  const paths = [...resolved.paths.keys()].map((name) => [fileSettingOf(name), undefined]);
  return { ...resolved.env, ...Object.fromEntries(paths) };
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch {
    return null;
  }
}
