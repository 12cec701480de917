/**
 * Reads single settings from the environment. An empty value counts as not set, because compose
 * files cannot express an unset variable. A fault names the setting and what it must be. All faults
 * are collected, so that one start names them all.
 */
import { BlockList, isIP, isIPv6 } from "node:net";
import { loopbackHosts } from "../../transport/rpc/gate/browser-requests.ts";
import { choices, texts, wholeNumbers } from "./described-settings.ts";

/** Receives what is wrong with a setting: one line that names it. */
export type OnFault = (fault: string) => void;

type Word<N extends keyof typeof choices> = (typeof choices)[N]["words"][number];

/** The readers of one environment. */
export type SettingsReader = ReturnType<typeof settingsReader>;

/** Creates the readers. A setting with a fault reads as its default. */
export function settingsReader(env: NodeJS.ProcessEnv, onFault: OnFault) {
  return {
    text: (name: keyof typeof texts): string => env[name] || texts[name],
    whole: (name: keyof typeof wholeNumbers): number => {
      const { fallback, least, most } = wholeNumbers[name];
      const text = env[name];
      if (!text) return fallback;
      const value = Number(text);
      if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
      onFault(`${name}=${text} must be a whole number from ${least} to ${most}.`);
      return fallback;
    },
    choice: <N extends keyof typeof choices>(name: N): Word<N> => {
      const { fallback, words }: { fallback: Word<N>; words: readonly Word<N>[] } = choices[name];
      const value = env[name];
      if (!value) return fallback;
      const found = words.find((word) => word === value);
      if (found !== undefined) return found;
      onFault(`${name}=${value} must be one of ${words.join(", ")}.`);
      return fallback;
    },
    /** Returns what `read` returns. If it throws, reports its message and returns the fallback. */
    attempt: <T>(fallback: T, read: () => T): T => {
      try {
        return read();
      } catch (error) {
        onFault(error instanceof Error ? error.message : String(error));
        return fallback;
      }
    },
  };
}

/** Returns DATABASE_URL, which is required. Errors never show it: it may have a password. */
export function databaseUrl(env: NodeJS.ProcessEnv): string {
  const value = env.DATABASE_URL;
  const wanted = "an address such as postgresql://user:password@host:5432/database";
  if (!value) throw new Error(`DATABASE_URL is not set: it must be ${wanted}.`);
  if (!URL.canParse(value) || !/^postgres(?:ql)?:$/.test(new URL(value).protocol)) {
    throw new Error(`DATABASE_URL must be ${wanted}.`);
  }
  return value;
}

/** Returns PUBLIC_URL without a final slash, or null if it is not set. */
export function publicUrl(env: NodeJS.ProcessEnv): string | null {
  return httpUrl(env, "PUBLIC_URL", "https://billing.example.com");
}

/** Returns TEMPORAL_UI_URL without a final slash, or null if it is not set. */
export function temporalUiUrl(env: NodeJS.ProcessEnv): string | null {
  return httpUrl(env, "TEMPORAL_UI_URL", "https://temporal.example.com");
}

function httpUrl(env: NodeJS.ProcessEnv, name: string, example: string): string | null {
  const value = env[name];
  if (!value) return null;
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new Error(`${name}=${value} must be an address such as ${example}.`);
  }
  return value.replace(/\/+$/, "");
}

/** Returns SUPPORT_CONTACT, an e-mail address or the address of a page, or null if not set. */
export function supportContact(env: NodeJS.ProcessEnv): string | null {
  const value = env.SUPPORT_CONTACT;
  if (!value) return null;
  const isPage = URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  if (!isPage && !/^[^@\s:/]+@[^@\s:/]+$/.test(value)) {
    throw new Error(
      `SUPPORT_CONTACT=${value} must be an e-mail address or a page such as https://example.com.`,
    );
  }
  return value;
}

/**
 * Returns the addresses and networks that many clients share. Throws an Error that names the entry
 * of TRUSTED_PROXIES that is neither.
 */
export function trustedProxies({ TRUSTED_PROXIES: setting }: NodeJS.ProcessEnv): BlockList {
  const list = new BlockList();
  for (const entry of (setting || texts.TRUSTED_PROXIES).split(",")) addEntry(list, entry.trim());
  return list;
}

function addEntry(list: BlockList, entry: string): void {
  const [address = "", prefix, ...more] = entry.split("/");
  const bits = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (isIP(address) === 0 || !isPrefix || more.length > 0) {
    throw new Error(
      `TRUSTED_PROXIES: ${entry} must be an address such as 10.0.0.7 ` +
        "or a network such as 10.0.0.0/8.",
    );
  }
  list.addSubnet(address, Number(prefix ?? bits), bits === 128 ? "ipv6" : "ipv4");
}

const everywhere = ["0.0.0.0", "::"];

/**
 * Returns the names under which the console is served, without ports: those of this machine, of
 * ADMIN_HOST and of PUBLIC_URL, and those of CONSOLE_HOSTS.
 */
export function consoleHosts(env: NodeJS.ProcessEnv): ReadonlySet<string> {
  const further = env.CONSOLE_HOSTS ? env.CONSOLE_HOSTS.split(",").map((host) => host.trim()) : [];
  const adminHost = env.ADMIN_HOST && !everywhere.includes(env.ADMIN_HOST) ? [env.ADMIN_HOST] : [];
  // A PUBLIC_URL that is no address is a fault of its own.
  const publicHost = URL.parse(env.PUBLIC_URL ?? "")?.hostname;
  const derived = publicHost ? [...adminHost, publicHost] : adminHost;
  const names = [...derived, ...further].map((host) => {
    const name = isIPv6(host) ? `[${host}]` : host.toLowerCase();
    if (URL.parse(`http://${name}`)?.hostname === name) return name;
    throw new Error(`CONSOLE_HOSTS: ${host} must be a name such as console.example.com, no port.`);
  });
  return new Set([...loopbackHosts, ...names]);
}

/** Returns the key of this setting as bytes, or null if it is not set. */
export function secretKey(env: NodeJS.ProcessEnv, name: string): Buffer | null {
  const value = env[name];
  return value ? keyOf(name, value) : null;
}

/** Returns the keys of this setting, separated by commas, as bytes. */
export function secretKeysBefore(env: NodeJS.ProcessEnv, name: string): readonly Buffer[] {
  const value = env[name];
  return value ? value.split(",").map((key) => keyOf(name, key.trim())) : [];
}

function keyOf(name: string, value: string): Buffer {
  const key = Buffer.from(value, "base64");
  if (key.length !== 32 || !/^[0-9A-Za-z+/]{43}=$/.test(value)) {
    throw new Error(`${name} must be 32 random bytes in base64 (openssl rand -base64 32).`);
  }
  return key;
}
