/** Which texts the contract's formats take. */
import { expect, test } from "vitest";
import { TextFormat } from "../../src/gen/proto/billing/options/v1/options_pb.ts";
import { textFormats } from "../../src/services/text-formats.ts";

const isReason = (text: string) => textFormats.get(TextFormat.REASON)?.holds(text);

test.each([
  ["blanks", "   "],
  ["tabs and line breaks", "\t\r\n\u0085\u2028\u2029"],
  ["blanks of other widths", "\u00a0\u2003\u3000"],
  ["control characters", "\u0001\u001b\u009f"],
  ["zero width characters", "\u200b\u200c\u200d\u2060\ufeff"],
  ["bidi characters", "\u200e\u200f\u202a\u202e\u2066\u2069\u061c"],
  ["soft hyphens", "\u00ad"],
  ["fillers", "\u115f\u1160\u3164\uffa0\u2800"],
  ["variation selectors and tags", "\ufe0f\u{e0041}\u{e007f}"],
])("a reason of %s only is none", (_, text) => {
  expect(isReason(text)).toBe(false);
});

test.each([".", " 7 ", "\u202eOrdered", "注文", "طلب", "👍", "é"])("a reason is %j", (text) => {
  expect(isReason(text)).toBe(true);
});
