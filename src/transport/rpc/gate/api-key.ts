/**
 * The form of API keys (`sk_live_`, `sk_test_`) and operators' tokens (`op_`): 256 random bits and
 * a checksum, in base 62. The checksum lets the service refuse a mistyped or invented key without a
 * query. It also lets scanners of public code recognise a real one. ACCESS-1, ADMIN-1.
 */
import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** 62^43 is the first power of 62 above 2^256. */
const secretDigits = 43;

/** 62^6 is the first power of 62 above 2^32. */
const checksumDigits = 6;

const apiKeyForm = formOf("sk_(?:live|test)_");
const operatorTokenForm = formOf("op_");

function formOf(prefix: string): RegExp {
  return new RegExp(`^${prefix}[0-9A-Za-z]{${secretDigits + checksumDigits}}$`);
}

/** A new key: its value, which is shown once and never stored, and the parts that are stored. */
interface NewApiKey {
  /** `sk_live_…` or `sk_test_…`, 57 characters. */
  readonly value: string;
  /**
   * SHA-256 of the value. It is enough for 256 random bits, and a slow hash would help to overload
   * the service.
   */
  readonly hash: Buffer;
  /** The prefix and the last four characters, by which an owner distinguishes keys. */
  readonly hint: string;
}

/** Creates a random key. The key of a sandbox (`livemode` false) begins with `sk_test_`. */
export function generateApiKey(livemode: boolean): NewApiKey {
  return generate(livemode ? "sk_live_" : "sk_test_");
}

/** Creates a random operator's token, `op_…`, with 52 characters. It is stored like a key. */
export function generateOperatorToken(): NewApiKey {
  return generate("op_");
}

function generate(prefix: string): NewApiKey {
  const secret = prefix + inBase62(BigInt(`0x${randomBytes(32).toString("hex")}`), secretDigits);
  const value = secret + checksumOf(secret);
  return { value, hash: hashApiKey(value), hint: `${prefix}…${value.slice(-4)}` };
}

/** Returns the SHA-256 under which a key or token is stored. */
export function hashApiKey(value: string): Buffer {
  return hash("sha256", value, "buffer");
}

/**
 * Whether the text has the form of a key, its checksum included. It does not check that the key
 * exists.
 */
export function isApiKey(value: string): boolean {
  return apiKeyForm.test(value) && hasChecksum(value);
}

/** Whether the text has the form of an operator's token, its checksum included. */
export function isOperatorToken(value: string): boolean {
  return operatorTokenForm.test(value) && hasChecksum(value);
}

function hasChecksum(value: string): boolean {
  return value.endsWith(checksumOf(value.slice(0, -checksumDigits)));
}

function checksumOf(secret: string): string {
  return inBase62(BigInt(crc32(secret)), checksumDigits);
}

function inBase62(number: bigint, length: number): string {
  let text = "";
  for (let rest = number; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, "0");
}
