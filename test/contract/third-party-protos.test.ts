/** The protos of others that are laid beside ours say what their packages say. */
import { join } from "node:path";
import type { DescField } from "@bufbuild/protobuf";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, test } from "vitest";
import { ServerReflection } from "../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../src/gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import { contractRegistry } from "../../tools/openapi/write.ts";

const registry = contractRegistry(join(import.meta.dirname, "../.."));

/**
 * What decides how fields are read from the wire and named in options, by number: their order means
 * nothing.
 */
function wire(fields: readonly DescField[]): unknown[] {
  return fields
    .toSorted((left, right) => left.number - right.number)
    .map(({ name, number, proto, oneof }) => [
      name,
      number,
      proto.type,
      proto.typeName,
      proto.label,
      oneof?.name,
    ]);
}

test("the printed validate.proto has the fields of the package's descriptor, message by message", () => {
  expect(file_buf_validate_validate.messages.length).toBeGreaterThan(20);
  for (const message of file_buf_validate_validate.messages) {
    expect(wire(registry.getMessage(message.typeName)?.fields ?? [])).toEqual(wire(message.fields));
  }
  for (const extension of file_buf_validate_validate.extensions) {
    expect(registry.getExtension(extension.typeName)?.number).toBe(extension.number);
  }
  for (const descriptor of file_buf_validate_validate.enums) {
    const values = descriptor.values.map(({ name, number }) => [name, number]);
    expect(
      registry.getEnum(descriptor.typeName)?.values.map(({ name, number }) => [name, number]),
    ).toEqual(values);
  }
});

test("reflection has the names that clients ask for, old and new", () => {
  expect(ServerReflection.typeName).toBe("grpc.reflection.v1.ServerReflection");
  expect(ServerReflectionAlpha.typeName).toBe("grpc.reflection.v1alpha.ServerReflection");
  expect(ServerReflection.method.serverReflectionInfo.methodKind).toBe("bidi_streaming");
  const numbers = ServerReflection.method.serverReflectionInfo.input.fields.map(
    ({ name, number }) => [name, number],
  );
  expect(numbers).toEqual([
    ["host", 1],
    ["file_by_filename", 3],
    ["file_containing_symbol", 4],
    ["file_containing_extension", 5],
    ["all_extension_numbers_of_type", 6],
    ["list_services", 7],
  ]);
});
