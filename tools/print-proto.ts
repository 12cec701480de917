/**
 * Prints a proto2 file from its descriptor. `buf/validate/validate.proto` needs this, because its
 * package contains only the descriptor. Options are left out, except the predefined rules, which
 * give `buf lint` the meaning of each rule.
 */
import type { DescEnum, DescExtension, DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import type {
  DescriptorProto_ExtensionRange,
  EnumDescriptorProto_EnumReservedRange,
} from "@bufbuild/protobuf/wkt";
import { FieldDescriptorProto_Label, FieldDescriptorProto_Type } from "@bufbuild/protobuf/wkt";
import { predefined } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

type AnyField = DescField | DescExtension;

/**
 * Returns the text of a proto2 file that compiles to the same messages, enums, fields and
 * extensions as `file`.
 */
export function printProto(file: DescFile): string {
  const extendees = new Map<string, string[]>();
  for (const extension of file.extensions) {
    const lines = extendees.get(extension.extendee.typeName) ?? [];
    lines.push(printField(extension));
    extendees.set(extension.extendee.typeName, lines);
  }
  const blocks = [
    'syntax = "proto2";',
    `package ${file.proto.package};`,
    file.proto.dependency.map((path) => `import "${path}";`).join("\n"),
    ...[...extendees].map(([name, lines]) => block(`extend .${name}`, lines)),
    ...file.enums.map(printEnum),
    ...file.messages.map(printMessage),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function printMessage(message: DescMessage): string {
  const loose = message.fields.filter((field) => field.oneof === undefined).map(printField);
  const oneofs = message.oneofs.map((oneof) =>
    block(`oneof ${oneof.name}`, oneof.fields.map(printField)),
  );
  const ranges = message.proto.extensionRange.map(printExtensionRange);
  const reserved = printReserved(
    message.proto.reservedRange.map(({ start, end }) => ({ start, end: end - 1 })),
    message.proto.reservedName,
  );
  const nested = [
    ...message.nestedEnums.map(printEnum),
    ...message.nestedMessages.map(printMessage),
  ];
  return block(`message ${message.name}`, [...nested, ...reserved, ...oneofs, ...loose, ...ranges]);
}

function printEnum(descriptor: DescEnum): string {
  const values = descriptor.proto.value.map((value) => `${value.name} = ${value.number};`);
  return block(`enum ${descriptor.name}`, [
    ...printReserved(descriptor.proto.reservedRange, descriptor.proto.reservedName),
    ...values,
  ]);
}

function printField(field: AnyField): string {
  const label =
    field.kind === "field" && field.oneof !== undefined ? "" : `${labels[field.proto.label]} `;
  const { name, number } = field.proto;
  return `${label}${printType(field)} ${name} = ${number}${printOptions(field)};`;
}

const labels: Readonly<Record<FieldDescriptorProto_Label, string>> = {
  [FieldDescriptorProto_Label.OPTIONAL]: "optional",
  [FieldDescriptorProto_Label.REQUIRED]: "required",
  [FieldDescriptorProto_Label.REPEATED]: "repeated",
};

/**
 * Returns a named type by its full name, and a scalar by its keyword, the lower-case name in the
 * descriptor.
 */
function printType(field: AnyField): string {
  return field.proto.typeName === ""
    ? FieldDescriptorProto_Type[field.proto.type].toLowerCase()
    : field.proto.typeName;
}

function printOptions(field: AnyField): string {
  const rules = getOption(field, predefined).cel.map(
    ({ id, message, expression }) =>
      `(predefined).cel = { id: ${JSON.stringify(id)} message: ${JSON.stringify(message)} ` +
      `expression: ${JSON.stringify(expression)} }`,
  );
  return rules.length === 0 ? "" : ` [${rules.join(", ")}]`;
}

function printExtensionRange({ start, end }: DescriptorProto_ExtensionRange): string {
  const last = end - 1;
  // 2^29 - 1 is the highest field number. The grammar calls it `max`.
  return `extensions ${start} to ${last === 536_870_911 ? "max" : last};`;
}

type Range = Pick<EnumDescriptorProto_EnumReservedRange, "start" | "end">;

function printReserved(ranges: readonly Range[], names: readonly string[]): string[] {
  return [
    ...ranges.map(({ start, end }) => `reserved ${start} to ${end};`),
    ...(names.length === 0
      ? []
      : [`reserved ${names.map((name) => JSON.stringify(name)).join(", ")};`]),
  ];
}

function block(head: string, lines: readonly string[]): string {
  return `${head} {\n${lines.map((line) => line.replaceAll(/^/gm, "  ")).join("\n")}\n}`;
}
