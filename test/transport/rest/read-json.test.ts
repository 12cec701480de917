/**
 * A request body is read strictly: nothing is converted, ignored or guessed, and every fault names
 * its path (REQUEST-7).
 */
import { create, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { CreateCustomerRequestSchema } from "../../../src/gen/proto/billing/v1/customers_pb.ts";
import {
  ChangeUnitsRequestSchema,
  CreateSubscriptionRequestSchema,
  EndSubscriptionRequestSchema,
  EndWhen,
  ProrationBehaviour,
} from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { ReportUsageRequestSchema } from "../../../src/gen/proto/billing/v1/usage_pb.ts";
import { compileReader } from "../../../src/transport/rest/read-json.ts";

const readSubscription = compileReader(CreateSubscriptionRequestSchema);
const readCustomer = compileReader(CreateCustomerRequestSchema);
const readUnits = compileReader(ChangeUnitsRequestSchema, ["id"]);
const readEnd = compileReader(EndSubscriptionRequestSchema, ["id"]);
const readUsage = compileReader(ReportUsageRequestSchema);

const bytes = (text: string) => new TextEncoder().encode(text);

/** The fault of a body, as `[code, param]`. */
function faultOf(
  read: (body: Uint8Array) => Message,
  body: Uint8Array | string,
): [string, string | null] {
  try {
    read(typeof body === "string" ? bytes(body) : body);
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param];
    throw error;
  }
  return ["read", null];
}

test("a whole body becomes its message, with lists, nested objects and every escape", () => {
  const body = ` {"customer_code" : "A\\u00e9\\n\\"\\\\\\/😀\\ud83d\\ude00", \
"plan_code":"team",\t"units":10,
    "charges":[{"charge_code":"c","quantity":2},{"charge_code":"d","price":"1.5"}] }\r\n`;
  expect(readSubscription(bytes(body))).toEqual(
    create(CreateSubscriptionRequestSchema, {
      customerCode: 'Aé\n"\\/😀😀',
      planCode: "team",
      units: 10,
      charges: [
        { chargeCode: "c", quantity: 2 },
        { chargeCode: "d", price: "1.5" },
      ],
    }),
  );
});

test("missing members stay unset: that they are required is the validation's to say", () => {
  expect(readSubscription(bytes("{}"))).toEqual(create(CreateSubscriptionRequestSchema));
});

test("enums are read by their words, booleans and integers in their one form", () => {
  const body = '{"units":-7,"prorate":true,"proration_behaviour":"charge_on_renewal"}';
  expect(readUnits(bytes(body))).toEqual(
    create(ChangeUnitsRequestSchema, {
      units: -7,
      prorate: true,
      prorationBehaviour: ProrationBehaviour.CHARGE_ON_RENEWAL,
    }),
  );
  expect(readEnd(bytes('{"when":"now"}'))).toEqual(
    create(EndSubscriptionRequestSchema, { when: EndWhen.NOW }),
  );
});

test("null is read as unset where the member is documented as such", () => {
  const read = readCustomer(bytes('{"code":null,"name":"Acme","email":"a@b","company_name":null}'));
  expect(read).toEqual(create(CreateCustomerRequestSchema, { name: "Acme", email: "a@b" }));
});

test.each([
  "0.1",
  "12.50",
  "1e3",
  "-0.0",
  "123456789012345678901234567890",
  "0.1000000000000000055",
])("a quantity sent as the number %s keeps its digits", (number) => {
  const read = readUsage(bytes(`{"events":[{"quantity":${number}}]}`)) as Message & {
    events: { quantity: string }[];
  };
  expect(read.events[0]?.quantity).toBe(number);
});

describe("a body that is no JSON object is refused without a param", () => {
  test.each([
    "",
    " ",
    "null",
    "[]",
    '"{}"',
    "5",
    "{",
    "}",
    "{}{}",
    "{} x",
    "{},",
    '{"units":}',
    '{"units":5,}',
    '{"units" 5}',
    "{units:5}",
    "{'units':5}",
    '{"units":05}',
    '{"units":+5}',
    '{"units":5.}',
    '{"units":.5}',
    '{"units":NaN}',
    '{"units":tru}',
    '{"label":"a}',
    '{"label":"a\\"}',
    '{"label":"\\x41"}',
    '{"label":"\\u12"}',
    '{"label":"a\nb"}',
    '{"label":"a\0b"}',
    '{"charges":[}',
    '{"charges":[{}',
    '{"charges":[{},]}',
    '{"units":5 /* five */}',
    // The unknown member comes first, but the text is no JSON at all.
    '{"unknown":1, "units"',
  ])("%j", (body) => {
    expect(faultOf(readSubscription, body)).toEqual(["invalid_parameter", null]);
  });

  test("bytes that are no UTF-8, and a byte order mark", () => {
    const inside = (...codes: number[]) =>
      Buffer.concat([bytes('{"label":"'), Buffer.from(codes), bytes('"}')]);
    for (const codes of [
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
    ]) {
      expect(faultOf(readSubscription, inside(...codes))).toEqual(["invalid_parameter", null]);
    }
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes("{}")]);
    expect(faultOf(readSubscription, marked)).toEqual(["invalid_parameter", null]);
    expect(faultOf(readSubscription, Buffer.from("{}", "utf16le"))).toEqual([
      "invalid_parameter",
      null,
    ]);
  });
});

test("an unknown member is refused with the name that is probably meant", () => {
  const read = (text: string) => () => readSubscription(bytes(text));
  expect(read('{"planCode":"team"}')).toThrow(
    "planCode is not a member of this request. Is plan_code meant?",
  );
  expect(read('{"charges":[{"code":"a"}]}')).toThrow(
    "charges.0.code is not a member of this request. Is charge_code meant?",
  );
  expect(read('{"seats":1}')).toThrow(/^seats is not a member of this request$/);
});

describe("a member that does not fit is refused by its path", () => {
  test.each<[string, string | null]>([
    ['{"unknown":1}', "unknown"],
    ['{"":1}', null],
    ['{"__proto__":{"units":1}}', "__proto__"],
    ['{"constructor":1}', "constructor"],
    ['{"customerCode":"A"}', "customerCode"],
    ['{"Units":5}', "Units"],
    ['{"units":5,"units":5}', "units"],
    ['{"units":5,"un\\u0069ts":6}', "units"],
    ['{"charges":[{"charge_code":"a","charge_code":"a"}]}', "charges.0.charge_code"],
    ['{"units":"5"}', "units"],
    ['{"units":5.0}', "units"],
    ['{"units":5e0}', "units"],
    ['{"units":5E1}', "units"],
    ['{"units":-0}', "units"],
    ['{"units":true}', "units"],
    ['{"units":[5]}', "units"],
    ['{"units":2147483648}', "units"],
    ['{"units":-2147483649}', "units"],
    ['{"units":99999999999999999999999}', "units"],
    ['{"units":1e400}', "units"],
    ['{"units":null}', "units"],
    ['{"label":5}', "label"],
    ['{"label":null}', "label"],
    ['{"label":{"a":1}}', "label"],
    ['{"price":1.5}', "price"],
    ['{"charges":{}}', "charges"],
    ['{"charges":null}', "charges"],
    ['{"charges":[null]}', "charges.0"],
    ['{"charges":[{},[]]}', "charges.1"],
    ['{"charges":[{},{"price":5}]}', "charges.1.price"],
    ['{"charges":[{},{"prize":"5"}]}', "charges.1.prize"],
    ['{"label":"a\\u0000b"}', "label"],
    ['{"label":"\\ud800"}', "label"],
    ['{"label":"\\udc00\\ud800"}', "label"],
    ['{"charges":[{"charge_code":"\\ud83d"}]}', "charges.0.charge_code"],
  ])("%s names %s", (body, param) => {
    expect(faultOf(readSubscription, body)).toEqual(["invalid_parameter", param]);
  });

  test.each([
    ['{"when":"NOW"}', "when"],
    ['{"when":"END_WHEN_NOW"}', "when"],
    ['{"when":"unspecified"}', "when"],
    ['{"when":2}', "when"],
    ['{"when":""}', "when"],
    ['{"when":"now","delete_unsent_invoices":"false"}', "delete_unsent_invoices"],
    ['{"when":"now","delete_unsent_invoices":0}', "delete_unsent_invoices"],
  ])("%s names %s", (body, param) => {
    expect(faultOf(readEnd, body)).toEqual(["invalid_parameter", param]);
  });

  test("what the path carries is unknown in the body", () => {
    expect(faultOf(readUnits, '{"id":"6f1ed002-ab59-5d6e-9e0f-1c7a3f0d9b11","units":5}')).toEqual([
      "invalid_parameter",
      "id",
    ]);
  });

  test("a quantity that is neither text nor number", () => {
    expect(faultOf(readUsage, '{"events":[{},{},{},{"quantity":true}]}')).toEqual([
      "invalid_parameter",
      "events.3.quantity",
    ]);
  });

  test("an endless name is not repeated in the refusal", () => {
    const [, param] = faultOf(readSubscription, `{"${"x".repeat(100_000)}":1}`);
    expect(param?.length).toBeLessThan(150);
  });
});

test("nesting of any depth is refused without being followed", () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  expect(faultOf(readSubscription, `{"label":${deep}}`)).toEqual(["invalid_parameter", "label"]);
  expect(faultOf(readSubscription, deep)).toEqual(["invalid_parameter", null]);
});

test("no object gets a foreign prototype", () => {
  expect(faultOf(readUsage, '{"events":[{"__proto__":{"quantity":"1"}}]}')).toEqual([
    "invalid_parameter",
    "events.0.__proto__",
  ]);
  expect(({} as { quantity?: string }).quantity).toBeUndefined();
});

test("whatever is sent is read or refused as invalid_parameter, never anything else", () => {
  const token = fc.constantFrom(
    ...'{}[]:,"\\ \n0159.-+eEtruefalsn'.split(""),
    '"units"',
    '"charges"',
    "null",
    "\\u00",
  );
  const soup = fc.array(token, { maxLength: 40 }).map((tokens) => bytes(tokens.join("")));
  const framed = soup.map((part) => Buffer.concat([bytes('{"units":'), part, bytes("}")]));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), soup, framed), (body) => {
      expect(["read", "invalid_parameter"]).toContain(faultOf(readSubscription, body)[0]);
    }),
    { numRuns: 5_000 },
  );
});

test("a text is refused if JSON.parse refuses it or if readers disagree on it", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (text) => {
      const [code] = faultOf(readCustomer, text);
      const value: unknown = JSON.parse(text);
      // Of a customer's members one is among the words that are drawn now and then.
      fc.pre(!text.includes('"name"'));
      const isEmptyObject =
        typeof value === "object" && value !== null && Object.keys(value).length === 0;
      expect(code).toBe(isEmptyObject && !Array.isArray(value) ? "read" : "invalid_parameter");
    }),
    { numRuns: 2_000 },
  );
});
