/** Secrets at rest open whole or not at all. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createEncryption } from "../../../src/store/database/encryption.ts";

const encryption = createEncryption(randomBytes(32));
const nonceBytes = 12;
const tagBytes = 16;

test.each(["", "a secret"])("the secret %j opens at its place, and at no other", (secret) => {
  const encrypted = encryption.encrypt(secret, "here");
  expect(encryption.decrypt(encrypted, "here")).toBe(secret);
  expect(() => encryption.decrypt(encrypted, "there")).toThrow();
});

// GCM accepts a tag of 4, 8 or 12 to 16 bytes. A short tag is guessed far sooner.
test.each([
  0, 4, 8, 12, 13, 14, 15,
])("a secret cut to a tag of %i bytes does not open", (length) => {
  const { keyId, bytes } = encryption.encrypt("", "here");
  expect(bytes).toHaveLength(nonceBytes + tagBytes);
  const cut = bytes.subarray(0, nonceBytes + length);
  expect(() => encryption.decrypt({ keyId, bytes: cut }, "here")).toThrow();
});
