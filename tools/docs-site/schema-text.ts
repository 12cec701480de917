/** Schemas of the OpenAPI document in words: the type and the bounds of each member. */
import type { Parameter, Schema } from "./openapi.ts";

/** The page that lists the schemas. */
export const objectsAddress = "/docs/reference/objects";

/** Returns the address of a schema's page: `…/credit-note` of `CreditNote`. */
export function objectAddress(name: string): string {
  const slug = name.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
  return `${objectsAddress}/${slug}`;
}

/** Returns a link to the page of a schema. */
export function schemaLink(name: string): string {
  return `[${name}](${objectAddress(name)})`;
}

/** Returns the name in `#/components/schemas/Invoice`. */
export function schemaNameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** Returns the type with its bounds: `integer, 1 to 100`. */
export function typeText(schema: Schema): string {
  return [typeOf(schema), ...boundsOf(schema)].join(", ");
}

function typeOf(schema: Schema): string {
  const { $ref, const: only, anyOf, oneOf, items, type = "object" } = schema;
  if ($ref !== undefined) return schemaLink(schemaNameOf($ref));
  if (only !== undefined) return `\`${only}\``;
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return choices.map(typeOf).join(" or ");
  const names = typeof type === "string" ? [type] : type;
  return names
    .map((name) => (name === "array" && items !== undefined ? `list of ${typeOf(items)}` : name))
    .join(" or ");
}

function boundsOf(schema: Schema): readonly string[] {
  const { format, minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  return [
    format === undefined || format === "int32" ? "" : format,
    between(minimum, maximum, ""),
    between(minLength, maxLength, " characters"),
    between(minItems, maxItems, " items"),
    schema.default === undefined ? "" : `\`${schema.default}\` if left out`,
  ].filter((bound) => bound !== "");
}

function between(least: number | undefined, most: number | undefined, what: string): string {
  if (most === undefined) return least === undefined ? "" : `at least ${least}${what}`;
  return least === undefined ? `at most ${most}${what}` : `${least} to ${most}${what}`;
}

/** Returns the list of an object's members, with those of objects in it. */
export function membersText({ properties = {}, required = [] }: Schema): string {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const needed = required.includes(name) ? ", required" : "";
      const inner = membersText(schema.items?.properties ? schema.items : schema);
      const text = schema.description ?? "";
      return itemText(name, `${typeText(schema)}${needed}`, inner ? `${text}\n\n${inner}` : text);
    })
    .join("\n");
}

/** Returns the list of an operation's parameters. */
export function parametersText(parameters: readonly Parameter[]): string {
  return parameters
    .map(({ name, in: place, required, schema, description }) => {
      const needed = required ? ", required" : "";
      return itemText(name, `in the ${place}, ${typeText(schema)}${needed}`, description);
    })
    .join("\n");
}

function itemText(name: string, type: string, text: string): string {
  const lines = text === "" ? "" : `\\\n${text}`;
  return `- **\`${name}\`** *${type}*${lines}`.replaceAll(/\n(?=.)/g, "\n  ");
}

/** Returns a section, or nothing without a text. */
export function section(title: string, text: string): string {
  return text === "" ? "" : `## ${title}\n\n${text}`;
}

/** Returns a value as JSON in a block of code. */
export function jsonBlock(value: unknown): string {
  return block("json", JSON.stringify(value, null, 2));
}

/** Returns a block of code. */
export function block(info: string, source: string): string {
  return `\`\`\`${info}\n${source}\n\`\`\``;
}
