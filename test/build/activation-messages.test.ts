/** The messages in a build's workflow threads: those of an activation, unchanged, and no others. */
import { join } from "node:path";
import protobuf from "protobufjs/light.js";
import { expect, test } from "vitest";
import {
  activation,
  activationMessages,
  type Descriptions,
  describedMessages,
} from "../../tools/build/activation-messages.ts";

const packages = join(import.meta.dirname, "../../node_modules");
const all = describedMessages(join(packages, "@temporalio/proto/protos/json-module.js"));
const few = activationMessages(all);

function rootOf(messages: Descriptions): protobuf.Root {
  const root = new protobuf.Root();
  root.addJSON(messages as Parameters<typeof root.addJSON>[0]);
  return root;
}

/** An object with every field of the message, down to this depth. */
function filled(type: protobuf.Type, depth: number): Record<string, unknown> {
  const fields = type.fieldsArray.map((field) => {
    const { resolvedType } = field.resolve();
    const one = () => {
      if (resolvedType instanceof protobuf.Type)
        return depth === 0 ? {} : filled(resolvedType, depth - 1);
      if (resolvedType instanceof protobuf.Enum) return Object.values(resolvedType.values).at(-1);
      if (field.type === "bytes") return Buffer.from("bytes");
      return field.type === "bool" || (field.type === "string" ? "text" : 7);
    };
    if (field instanceof protobuf.MapField) return [field.name, { key: one() }];
    return [field.name, field.repeated ? [one()] : one()];
  });
  return Object.fromEntries(fields);
}

test("a workflow thread reads every field of an activation as with all messages", () => {
  const [ours, theirs] = [rootOf(few), rootOf(all)].map((root) => root.lookupType(activation)) as [
    protobuf.Type,
    protobuf.Type,
  ];
  // Deep enough for the failure of a previous run, and its cause.
  const given = filled(theirs, 4);
  const read = (type: protobuf.Type) => type.toObject(type.fromObject(given), { defaults: true });
  expect(read(ours)).toEqual(read(theirs));
  expect(JSON.stringify(read(ours))).toContain("stackTrace");
});

test("a workflow thread has all types that its messages name, and no calls to the server", () => {
  const root = rootOf(few);
  expect(() => root.resolveAll()).not.toThrow();
  expect(root.lookup("temporal.api.workflowservice")).toBeNull();
  expect(JSON.stringify(few).length).toBeLessThan(JSON.stringify(all).length / 10);
});
