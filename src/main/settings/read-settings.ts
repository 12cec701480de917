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
  const text = env[name];
  if (!text) return fallback;
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < least || value > most) {
    throw new Error(`${name}=${text} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

/** Returns one of the setting's words, or its default. Throws for another word. */
export function choice<N extends keyof typeof choices>(
  env: NodeJS.ProcessEnv,
  name: N,
): (typeof choices)[N]["words"][number] {
  const { fallback, words }: { fallback: Word<N>; words: readonly Word<N>[] } = choices[name];
  const value = env[name];
  if (!value) return fallback;
  const found = words.find((one) => one === value);
  if (found === undefined) throw new Error(`${name}=${value} must be one of ${words.join(", ")}.`);
  return found;
}

type Word<N extends keyof typeof choices> = (typeof choices)[N]["words"][number];

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
  const value = env.PUBLIC_URL;
  if (!value) return null;
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new Error(`PUBLIC_URL=${value} must be an address such as https://billing.example.com.`);
  }
  return value.replace(/\/+$/, "");
}

/** Returns SECRET_KEY as bytes, or null if it is not set. */
export function secretKey(env: NodeJS.ProcessEnv): Buffer | null {
  const value = env.SECRET_KEY;
  return value ? keyOf("SECRET_KEY", value) : null;
}

/** Returns the keys of SECRET_KEYS_BEFORE as bytes. */
export function secretKeysBefore(env: NodeJS.ProcessEnv): readonly Buffer[] {
  const value = env.SECRET_KEYS_BEFORE;
  return value ? value.split(",").map((key) => keyOf("SECRET_KEYS_BEFORE", key.trim())) : [];
}

function keyOf(name: string, value: string): Buffer {
  const key = Buffer.from(value, "base64");
  if (key.length !== 32 || !/^[0-9A-Za-z+/]{43}=$/.test(value)) {
    throw new Error(`${name} must be 32 random bytes in base64 (openssl rand -base64 32).`);
  }
  return key;
}
