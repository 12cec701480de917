/** Proven credentials are recognised by a digest from which no key can be read (LIMIT-2). */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createProvenCredentials,
  digestOf,
} from "../../../../src/transport/http/limits/proven-credentials.ts";

/** Any value of a header: one byte a character. */
const credential = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
  maxLength: 200,
});

test("equal credentials have one digest, and different ones have different digests", () => {
  fc.assert(
    fc.property(credential, credential, (one, other) => {
      expect(digestOf(`${one}`.slice())).toEqual(digestOf(one));
      if (one !== other) expect(digestOf(other)).not.toEqual(digestOf(one));
    }),
  );
});

test("credentials that differ in a character, its place or their length have other digests", () => {
  const key = `Bearer sk_live_${"0123456789abcdefghijklm".repeat(3)}`.slice(0, 64);
  const swapped = `${key.slice(0, 20)}${key[21]}${key[20]}${key.slice(22)}`;
  const changed = Array.from(key, (_, at) => `${key.slice(0, at)}~${key.slice(at + 1)}`);
  const long = key.repeat(3);
  const all = [key, swapped, ...changed, key.slice(0, -1), `${key} `, key + key, long, `${long} `];
  const firsts = new Set(all.map((one) => digestOf(one).first));
  const seconds = new Set(all.map((one) => digestOf(one).second));
  expect([firsts.size, seconds.size]).toEqual([all.length, all.length]);
});

test("a digest of the longest credential is exact, so that its last character counts", () => {
  const longest = "\u00ff".repeat(95);
  expect(digestOf(`${longest}\u00fe`)).not.toEqual(digestOf(`${longest}\u00ff`));
  for (const text of [longest, `${longest}\u00ff`])
    expect(Number.isSafeInteger(digestOf(text).first)).toBe(true);
});

test("the credentials that were used last are known, and older ones are forgotten", () => {
  const proven = createProvenCredentials(3);
  const digests = Array.from({ length: 20 }, (_, index) => digestOf(`Bearer ${index}`));
  for (const [index, digest] of digests.entries()) {
    proven.add(digest);
    for (const recent of digests.slice(Math.max(0, index - 2), index + 1))
      expect(proven.has(recent)).toBe(true);
  }
  expect(digests.filter((digest) => proven.has(digest)).length).toBeLessThanOrEqual(6);
});

test("credentials that stay in use are known however many others are proven", () => {
  const proven = createProvenCredentials(3);
  const own = digestOf("Bearer own");
  for (let index = 0; index < 20; index++) {
    proven.add(own);
    proven.add(digestOf(`Bearer ${index}`));
    expect(proven.has(own)).toBe(true);
  }
});

test("credentials that became invalid are unknown", () => {
  const proven = createProvenCredentials(2);
  const digests = ["a", "b", "c"].map(digestOf);
  for (const digest of digests) proven.add(digest);
  for (const digest of digests) proven.delete(digest);
  expect(digests.map(proven.has)).toEqual([false, false, false]);
});
