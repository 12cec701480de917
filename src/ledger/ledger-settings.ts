/**
 * The settings of each kind of ledger: our OAuth app there, and the signing key of its webhooks.
 * Their names begin with the kind's name, such as `KIND_CLIENT_ID`.
 */
import type { LedgerKinds } from "./port/ledger-kind.ts";
import {
  callbackPathOf,
  type LedgerAppKind,
  type LedgerAppSettings,
  settingNamesOf,
} from "./port/oauth-app.ts";

/** The settings of all kinds, by kind. A kind without settings is absent. */
export interface LedgerSettings {
  /** Our apps. Without one, no organisation can consent to it. */
  readonly apps: Readonly<Record<string, LedgerAppSettings>>;
  /** The signing keys of webhooks. Without one, no webhook of that kind is accepted. */
  readonly webhookKeys: Readonly<Record<string, string>>;
}

/** Receives what is wrong with a setting: one line that names it. */
type OnFault = (fault: string) => void;

/** Reads the settings of these kinds. A wrong one is reported by name and left out. */
export function readLedgerSettings(
  env: NodeJS.ProcessEnv,
  kinds: LedgerKinds,
  onFault: OnFault,
): LedgerSettings {
  const apps: Record<string, LedgerAppSettings> = {};
  const webhookKeys: Record<string, string> = {};
  for (const [kind, { app, webhooks }] of Object.entries(kinds)) {
    const settings = app === null ? null : readAppSettings(env, kind, app, onFault);
    if (settings !== null) apps[kind] = settings;
    const key = webhooks === null ? undefined : env[settingNamesOf(kind).webhookKey];
    if (key) webhookKeys[kind] = key;
  }
  return { apps, webhookKeys };
}

/** Returns a kind's member of such a record, or null. A kind is never the name of a method. */
export function settingOf<T>(settings: Readonly<Record<string, T>>, kind: string): T | null {
  return Object.hasOwn(settings, kind) ? (settings[kind] ?? null) : null;
}

/**
 * Returns the redirect URL of a consent, for an admin port at `port`. A ledger may accept
 * `localhost` without TLS, and no IP address in its place.
 */
export function redirectUrlOf(
  kind: string,
  { redirectUrl }: Pick<LedgerAppSettings, "redirectUrl">,
  isTls: boolean,
  port: number,
): string {
  return redirectUrl ?? `${isTls ? "https" : "http"}://localhost:${port}${callbackPathOf(kind)}`;
}

/**
 * Reads the app's client id and secret, both or none. Without them the answer is null and consent
 * is not available. The origin is that of a server that speaks like the ledger and replaces its
 * addresses.
 */
function readAppSettings(
  env: NodeJS.ProcessEnv,
  kind: string,
  app: LedgerAppKind,
  onFault: OnFault,
): LedgerAppSettings | null {
  const names = settingNamesOf(kind);
  const [clientId, clientSecret] = [env[names.clientId], env[names.clientSecret]];
  const addressOf = (name: string, example: string) => readAddress(env, name, example, onFault);
  const origin = addressOf(names.origin, "https://ledger.example.com");
  const redirectUrl = addressOf(
    names.redirectUrl,
    `https://billing.example.com${callbackPathOf(kind)}`,
  );
  if (!clientId && !clientSecret) return null;
  if (!clientId) onFault(`${names.clientSecret} is set without ${names.clientId}.`);
  if (!clientSecret) onFault(`${names.clientId} is set without ${names.clientSecret}.`);
  if (!clientId || !clientSecret) return null;
  return { clientId, clientSecret, ...app.addresses(origin), redirectUrl };
}

function readAddress(
  env: NodeJS.ProcessEnv,
  name: string,
  example: string,
  onFault: OnFault,
): string | null {
  const setting = env[name];
  if (!setting) return null;
  if (!URL.canParse(setting) || !/^https?:$/.test(new URL(setting).protocol)) {
    onFault(`${name}=${setting} must be an address such as ${example}.`);
    return null;
  }
  return setting.replace(/\/+$/, "");
}
