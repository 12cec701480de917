/**
 * Reads single settings from the environment. An empty value counts as not set, because compose
 * files cannot express an unset variable. Errors name the setting and what it must be.
 */
import { choices, texts, wholeNumbers } from "./described-settings.ts";

/** Returns a text, or its default. */
export function text(env: NodeJS.ProcessEnv, name: keyof typeof texts): string {
  return env[name] || texts[name];
}

/** Returns a whole number, or its default. Throws if it is no number or out of its bounds. */
export function whole(env: NodeJS.ProcessEnv, name: keyof typeof wholeNumbers): number {
  const { fallback, least, most } = wholeNumbers[name];
  const given = env[name];
  if (!given) return fallback;
  const value = Number(given);
  if (!/^\d{1,9}$/.test(given) || value < least || value > most) {
    throw new Error(`${name}=${given} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

/** Returns one of the setting's words, or its default. Throws for another word. */
export function choice<N extends keyof typeof choices>(
  env: NodeJS.ProcessEnv,
  name: N,
): (typeof choices)[N]["words"][number] {
  const { fallback, words }: { fallback: Word<N>; words: readonly Word<N>[] } = choices[name];
  const given = env[name];
  if (!given) return fallback;
  const found = words.find((one) => one === given);
  if (found === undefined) throw new Error(`${name}=${given} must be one of ${words.join(", ")}.`);
  return found;
}

type Word<N extends keyof typeof choices> = (typeof choices)[N]["words"][number];

/** Returns DATABASE_URL, which is required. Errors never show it, because it may have a password. */
export function databaseUrl(env: NodeJS.ProcessEnv): string {
  const given = env.DATABASE_URL;
  const wanted = "an address such as postgresql://user:password@host:5432/database";
  if (!given) throw new Error(`DATABASE_URL is not set: it must be ${wanted}.`);
  if (!URL.canParse(given) || !/^postgres(?:ql)?:$/.test(new URL(given).protocol)) {
    throw new Error(`DATABASE_URL must be ${wanted}.`);
  }
  return given;
}

/** Returns PUBLIC_URL without a final slash, or null if it is not set. */
export function publicUrl(env: NodeJS.ProcessEnv): string | null {
  const given = env.PUBLIC_URL;
  if (!given) return null;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new Error(`PUBLIC_URL=${given} must be an address such as https://billing.example.com.`);
  }
  return given.replace(/\/+$/, "");
}

/** Returns SECRET_KEY as bytes, or null if it is not set. */
export function secretKey(env: NodeJS.ProcessEnv): Buffer | null {
  const given = env.SECRET_KEY;
  return given ? keyOf("SECRET_KEY", given) : null;
}

/** Returns the keys of SECRET_KEYS_BEFORE as bytes. */
export function secretKeysBefore(env: NodeJS.ProcessEnv): readonly Buffer[] {
  const given = env.SECRET_KEYS_BEFORE;
  return given ? given.split(",").map((key) => keyOf("SECRET_KEYS_BEFORE", key.trim())) : [];
}

function keyOf(name: string, given: string): Buffer {
  const key = Buffer.from(given, "base64");
  if (key.length !== 32 || !/^[0-9A-Za-z+/]{43}=$/.test(given)) {
    throw new Error(`${name} must be 32 random bytes in base64 (openssl rand -base64 32).`);
  }
  return key;
}
