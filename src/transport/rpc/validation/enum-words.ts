/** The values that the rules of an enum field allow, for choices and for messages. */
import { type DescEnum, type DescEnumValue, type DescField, getOption } from "@bufbuild/protobuf";
import {
  type EnumRules,
  field as rulesExtension,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/**
 * Returns the values in the order of the proto file, for a list those of its items. Empty for a
 * field of another type. The zero value means unset.
 */
export function allowedValues(field: DescField): readonly DescEnumValue[] {
  const rules = rulesOf(field);
  const isAllowed = (number: number) =>
    number !== 0 &&
    !rules?.notIn.includes(number) &&
    (rules === null || rules.in.length === 0 || rules.in.includes(number));
  return field.enum?.values.filter(({ number }) => isAllowed(number)) ?? [];
}

/** Returns the words of these values. */
export function enumWords(field: DescField): readonly string[] {
  return allowedValues(field).map(({ name, parent }) => wordOf(parent, name));
}

function rulesOf(field: DescField): EnumRules | null {
  const { type } = getOption(field, rulesExtension);
  const itemType = type.case === "repeated" ? type.value.items?.type : type;
  return itemType?.case === "enum" ? itemType.value : null;
}

/**
 * `DOCUMENT_STATE_FAILED` is `failed`, as in JSON over REST. The zero value means unset and has no
 * word.
 */
function wordOf({ sharedPrefix }: DescEnum, name: string): string {
  return name.slice(sharedPrefix?.length ?? 0).toLowerCase();
}
