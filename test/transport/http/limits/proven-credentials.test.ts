/** Proven credentials are recognised by a digest from which no key can be read (LIMIT-2). */
import { expect, test } from "vitest";
import {
  createProvenCredentials,
  digestOf,
} from "../../../../src/transport/http/limits/keyless-requests.ts";

test("the credentials that were admitted last are known, and older ones are forgotten", () => {
  const proven = createProvenCredentials(3);
  const digests = Array.from({ length: 20 }, (_, index) => digestOf(`Bearer ${index}`));
  for (const [index, digest] of digests.entries()) {
    proven.add(digest);
    for (const recent of digests.slice(Math.max(0, index - 2), index + 1))
      expect(proven.has(recent)).toBe(true);
  }
  expect(digests.filter(proven.has)).toEqual(digests.slice(-3));
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
