/**
 * Creates the ids of requests: UUIDs of version 7, in the order of time, at a cost that a request
 * does not notice.
 */
import { randomFillSync } from "node:crypto";

/** 8 KB of random bytes at a time. One call into OpenSSL serves 819 ids. */
const pool = Buffer.alloc(8_192);
/** The bytes of the pool in hexadecimal. */
let digits = "";
let used = 0;
/** An id has 18 random digits. Two bits of its variant come from the first of the other two. */
const digitsPerId = 20;

/** The digits whose upper two bits mark a UUID of RFC 9562. */
const variants = "89ab";

/** The first two groups of the ids of one millisecond. */
let prefix = "";
let prefixMs = 0;

/** Returns a new UUID of version 7 (RFC 9562, 5.7) in lower case, with the current millisecond. */
export function newRequestId(): string {
  if (used + digitsPerId > digits.length) {
    digits = randomFillSync(pool).toString("hex");
    used = 0;
  }
  const nowMs = Date.now();
  if (nowMs !== prefixMs) {
    const time = nowMs.toString(16).padStart(12, "0");
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
    prefixMs = nowMs;
  }
  const at = used;
  used += digitsPerId;
  const variant = variants.charAt((pool[at / 2] ?? 0) >> 6);
  const version = digits.slice(at + 2, at + 5);
  const clock = digits.slice(at + 5, at + 8);
  return `${prefix}${version}-${variant}${clock}-${digits.slice(at + 8, at + digitsPerId)}`;
}
