/** Writes the columns of all tables from the schema of Prisma, with the types of their values. */
import { readFileSync, writeFileSync } from "node:fs";

/** A field of the schema: name, type, `?` or `[]`, and its attributes. */
const field = /^ {2}(\w+)\s+(\w+)(\?|\[\])?(.*)$/;

/** The column of each type. A `DateTime` with `@db.Date` is a day. */
const columns: Readonly<Record<string, string>> = {
  BigInt: "c.bigint",
  Boolean: "c.bool",
  Bytes: "c.bytes",
  DateTime: "c.instant",
  Decimal: "c.numeric",
  Int: "c.int",
  Json: "c.json<unknown>()",
  String: "c.text",
};

/** Writes the columns of the schema at this path. */
export function writeColumns(schemaPath: string, outputPath: string): void {
  const models = [...readFileSync(schemaPath, "utf8").matchAll(/^model (\w+) \{\n(.*?)^\}/gms)];
  const tables = models.map(([, model = "", body = ""]) => {
    const members = body.split("\n").flatMap(memberOf);
    const name = model.charAt(0).toLowerCase() + model.slice(1);
    return [`  ${name}: {`, ...members, "  },"].join("\n");
  });
  writeFileSync(
    outputPath,
    `/**
 * The columns of each table, by the names of the schema. Generated from prisma/schema.prisma.
 */
import * as c from "../store/database/sql/columns.ts";

export const columns = {
${tables.join("\n")}
} as const;
`,
  );
}

function memberOf(line: string): readonly string[] {
  const [, name, type = "", arity, attributes = ""] = field.exec(line) ?? [];
  const column = columnOf(type, attributes);
  if (name === undefined || column === undefined) return [];
  const suffix = arity === "?" ? ".orNull()" : "";
  return [`    ${name}: ${arity === "[]" ? `c.arrayOf(${column})` : `${column}${suffix}`},`];
}

/** Undefined for a relation, whose type is a model. */
function columnOf(type: string, attributes: string): string | undefined {
  if (attributes.includes("@db.Uuid")) return "c.uuid";
  return attributes.includes("@db.Date") ? "c.day" : columns[type];
}
