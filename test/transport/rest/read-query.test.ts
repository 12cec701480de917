/** A query is read as strictly as a body, and its faults name the parameter (REQUEST-9). */
import { create, type DescMessage } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { DocumentStatus } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import {
  CustomerStatus,
  ListCustomersRequestSchema,
} from "../../../src/gen/proto/billing/v1/customers_pb.ts";
import { ListInvoicesRequestSchema } from "../../../src/gen/proto/billing/v1/invoices_pb.ts";
import { compileQueryReader } from "../../../src/transport/rest/read-query.ts";

const readerOf = (schema: DescMessage) => compileQueryReader(schema, schema.fields);
const readCustomers = readerOf(ListCustomersRequestSchema);
const readInvoices = readerOf(ListInvoicesRequestSchema);

function faultOf(read: ReturnType<typeof readerOf>, query: string): [string, string | null] {
  try {
    read(query);
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param];
    throw error;
  }
  return ["read", null];
}

test("parameters become the request, percent-encoded or with plus for a space", () => {
  expect(readCustomers("limit=5&code=A%20B+%C3%A9&email=a%40b&status=inactive")).toEqual(
    create(ListCustomersRequestSchema, {
      limit: 5,
      code: "A B é",
      email: "a@b",
      status: CustomerStatus.INACTIVE,
    }),
  );
  expect(readCustomers("")).toEqual(create(ListCustomersRequestSchema));
});

test("an unknown parameter is refused with the name that is probably meant", () => {
  expect(() => readInvoices("customerId=k")).toThrow(
    "customerId is not a parameter of this request. Is customer meant?",
  );
});

test("a list of words is separated by commas", () => {
  expect(readInvoices("status=draft,not_in_external")).toEqual(
    create(ListInvoicesRequestSchema, {
      status: [DocumentStatus.DRAFT, DocumentStatus.NOT_IN_EXTERNAL],
    }),
  );
});

describe("what does not fit is refused by the parameter's name", () => {
  test.each<[string, string | null]>([
    ["colour=red", "colour"],
    ["Limit=5", "Limit"],
    ["starting-after=x", "starting-after"],
    ["limit=5&limit=5", "limit"],
    ["limit", "limit"],
    ["limit=", "limit"],
    ["code=", "code"],
    ["limit=05", "limit"],
    ["limit=+5", "limit"],
    ["limit=%2B5", "limit"],
    ["limit=5.0", "limit"],
    ["limit=5e0", "limit"],
    ["limit=-0", "limit"],
    ["limit=%205", "limit"],
    ["limit=٥", "limit"],
    ["limit=99999999999", "limit"],
    ["limit=five", "limit"],
    ["status=", "status"],
    ["status=Active", "status"],
    ["status=unspecified", "status"],
    ["status=active,inactive", "status"],
    ["status=1", "status"],
    ["code=%00", "code"],
    ["code=%zz", "code"],
    ["code=%", "code"],
    ["code=%ff", "code"],
    ["code=%ed%a0%80", "code"],
    ["%zz=1", null],
    ["=1", null],
    ["=", null],
    ["&", null],
    ["&limit=5", null],
    ["limit=5&", null],
    ["limit=5&&status=active", null],
    ["limit[]=5", "limit[]"],
    ["__proto__=1", "__proto__"],
  ])("%s", (query, param) => {
    expect(faultOf(readCustomers, query)).toEqual(["invalid_parameter", param]);
  });

  test.each([
    "status=draft,",
    "status=,draft",
    "status=,",
    "status=draft,,paid",
    "status=draft, paid",
    "status=x",
  ])("%s", (query) => {
    expect(faultOf(readInvoices, query)).toEqual(["invalid_parameter", "status"]);
  });
});

test("every query is read or refused as invalid_parameter", () => {
  const part = fc.constantFrom(
    "limit",
    "status",
    "code",
    "=",
    "&",
    ",",
    "%",
    "%4",
    "%41",
    "+",
    "5",
    "draft",
    "é",
    "\0",
  );
  const query = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(part, { maxLength: 12 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(query, (text) => {
      expect(["read", "invalid_parameter"]).toContain(faultOf(readInvoices, text)[0]);
    }),
    { numRuns: 3_000 },
  );
});
