/** The values that the rules of an enum field allow, for choices and for messages. */
import { type DescEnumValue, type DescField, getOption } from "@bufbuild/protobuf";
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
  return allowedValues(field).map(enumJsonName);
}

function rulesOf(field: DescField): EnumRules | null {
  const { type } = getOption(field, rulesExtension);
  const itemType = type.case === "repeated" ? type.value.items?.type : type;
  return itemType?.case === "enum" ? itemType.value : null;
}

/** Returns the word of an enum value in JSON: `PLAN_TYPE_PER_UNIT` is `per_unit`. */
export function enumJsonName({ name, parent }: DescEnumValue): string {
  return name.slice(parent.sharedPrefix?.length ?? 0).toLowerCase();
}
