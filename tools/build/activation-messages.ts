/**
 * The protobuf messages that Temporal's workflow threads read. The SDK's package has a thousand
 * more, and to load them all is a third of the start of a thread.
 */
import { readFileSync } from "node:fs";
import { compileFunction } from "node:vm";
import protobuf from "protobufjs/light.js";

/** A namespace, a message or an enum, as protobufjs describes it. */
export interface Description {
  readonly nested?: Descriptions;
  readonly fields?: object;
  readonly oneofs?: object;
  readonly extensions?: unknown;
}

/** Descriptions by name. */
export type Descriptions = Readonly<Record<string, Description>>;

/** What a thread gets: an activation of a workflow. */
export const activation = "coresdk.workflow_activation.WorkflowActivation";

/** Returns all messages of the file of `@temporalio/proto` that describes them. */
export function describedMessages(file: string): Descriptions {
  let found: Descriptions | null = null;
  const addJSON = (messages: Descriptions): void => {
    found = messages;
  };
  // The file adds them to the root of this name.
  const library = { roots: { __temporal: { addJSON } } };
  compileFunction(readFileSync(file, "utf8"), ["require", "module"])(() => library, {});
  if (found === null) throw new Error(`${file} describes no messages`);
  return found;
}

/** Returns those of the messages that an activation can contain. */
export function activationMessages(all: Descriptions): Descriptions {
  const names = new Set<string>();
  const add = (type: protobuf.ReflectionObject | null): void => {
    if (type === null || names.has(type.fullName)) return;
    names.add(type.fullName);
    if (!(type instanceof protobuf.Type)) return;
    for (const field of type.fieldsArray) add(field.resolve().resolvedType);
  };
  const root = new protobuf.Root();
  root.addJSON(all as Parameters<typeof root.addJSON>[0]);
  add(root.lookupType(activation));
  return within(all, "", names);
}

/** A message that only contains one of them loses its fields. */
function within(all: Descriptions, path: string, names: ReadonlySet<string>): Descriptions {
  const kept = Object.entries(all).flatMap(([name, { nested, ...own }]) => {
    const inner = within(nested ?? {}, `${path}.${name}`, names);
    const isWanted = names.has(`${path}.${name}`);
    if (!isWanted && Object.keys(inner).length === 0) return [];
    const { fields, oneofs: _, ...rest } = own;
    const outer = isWanted ? own : { ...rest, ...(fields && { fields: {} }) };
    return [[name, { ...outer, ...(nested && { nested: inner }) }]];
  });
  return Object.fromEntries(kept);
}
