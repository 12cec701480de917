/** The form of API keys. */
import { describe, expect, test } from "vitest";
import {
  generateApiKey,
  hashApiKey,
  isApiKey,
} from "../../../../src/transport/rpc/gate/api-key.ts";

describe("API keys", () => {
  test("carry their mode in the prefix and are never the same twice", () => {
    const keys = Array.from({ length: 200 }, (_, index) => generateApiKey(index % 2 === 0));
    for (const [index, { value }] of keys.entries()) {
      expect(value).toMatch(
        index % 2 === 0 ? /^sk_live_[0-9A-Za-z]{49}$/ : /^sk_test_[0-9A-Za-z]{49}$/,
      );
      expect(isApiKey(value)).toBe(true);
    }
    expect(new Set(keys.map(({ value }) => value)).size).toBe(200);
  });

  test("are stored as their SHA-256, with a hint that does not reveal them", () => {
    const { value, hash, hint } = generateApiKey(true);
    expect(hash).toEqual(hashApiKey(value));
    expect(hash).toHaveLength(32);
    expect(hint).toBe(`sk_live_…${value.slice(-4)}`);
  });

  test("with any one character changed have not the form of a key", () => {
    const { value } = generateApiKey(false);
    for (let at = 0; at < value.length; at++) {
      const other = value[at] === "a" ? "b" : "a";
      expect(isApiKey(value.slice(0, at) + other + value.slice(at + 1))).toBe(false);
    }
  });

  test.each([
    "",
    "sk_live_",
    "sk_prod_abc",
    "hello",
    `${generateApiKey(true).value} `,
    generateApiKey(true).value.slice(0, -1),
  ])("%j has not the form of a key", (text) => {
    expect(isApiKey(text)).toBe(false);
  });
});
