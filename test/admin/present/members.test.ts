/** Records are presented by their members, and a message takes those that its contract has. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { membersOf } from "../../../src/admin/present/present.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { ApiKeySchema } from "../../../src/gen/proto/billing/admin/v1/api_keys_pb.ts";

test("instants and decimals are texts, and null is no member", () => {
  const record = { at: new Date(0), amount: parseDecimal("12.5"), count: 0, gone: null };
  expect(membersOf(record)).toEqual({
    at: "1970-01-01T00:00:00.000Z",
    amount: "12.5000",
    count: 0,
    gone: undefined,
  });
});

test("a message has no member of a record that its contract lacks", () => {
  const key = { id: "k", name: "First", keyHash: new Uint8Array([1]), revokedAt: null };
  const message = create(ApiKeySchema, membersOf(key));
  expect(message.id).toBe("k");
  expect(Object.keys(message)).not.toContain("keyHash");
  expect(message.revokedAt).toBeUndefined();
});
