/** The rules of tools/tidy, checked on every file, and each rule on a file that breaks it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { circleFaults } from "../tools/tidy/circles.ts";
import { columnFaults } from "../tools/tidy/columns.ts";
import { codeFolders, pages, readFiles } from "../tools/tidy/files.ts";
import { layerFaults } from "../tools/tidy/layers.ts";
import { ledgerNameFaults } from "../tools/tidy/ledger-names.ts";
import {
  constructFaults,
  exportFaults,
  headCommentFaults,
  sizeFaults,
} from "../tools/tidy/shape.ts";
import { type Fault, readSource, type Source } from "../tools/tidy/source.ts";
import { statementFaults } from "../tools/tidy/statements.ts";
import {
  type ExcusedStatement,
  tenantFaults,
  tenantTables,
} from "../tools/tidy/tenant-statements.ts";
import { fileNameFaults, wordFaults } from "../tools/tidy/words.ts";

const root = join(import.meta.dirname, "..");

/** Statements that read or write over all organisations, each with its reason. */
const excused: readonly ExcusedStatement[] = [];

const settings = readdirSync(root).filter((name) => /\.ts$/.test(name));

/** Reads these files or folders, once for all rules. */
const read = (entries: readonly string[]) =>
  readFiles(root, entries).map((file) =>
    file.path.endsWith(".ts") ? readSource(file.path, file.text) : file,
  );
const files = read([...codeFolders, ...pages]);
const sources = [...files, ...read(settings)].filter((file): file is Source => "code" in file);
// This file and the words' own list name what they forbid.
const named = sources.filter(
  ({ path }) => path !== "test/tidy.test.ts" && path !== "tools/tidy/words.ts",
);
const schema = readFileSync(join(root, "prisma/schema.prisma"), "utf8");

function faultsOf(rule: (source: Source) => Fault[], among: readonly Source[] = sources): Fault[] {
  return among.flatMap(rule);
}

describe("every file", () => {
  test("is checked", () => {
    expect(sources.length).toBeGreaterThan(50);
  });

  test("begins with a comment that says what it owns", () => {
    expect(files.flatMap(headCommentFaults)).toEqual([]);
  });

  test("documents what it exports", () => {
    expect(faultsOf(exportFaults)).toEqual([]);
  });

  test("stays below the limit of lines", () => {
    const code = files.filter(({ path }) => /\.tsx?$/.test(path));
    expect(code.flatMap(sizeFaults)).toEqual([]);
  });

  test("has no class but errors and connections, no default export, any, ! or skipped test", () => {
    expect(faultsOf(constructFaults)).toEqual([]);
  });

  test("imports only from layers that its own layer may import", () => {
    expect(faultsOf(layerFaults)).toEqual([]);
  });

  test("of the store imports no folder that imports its own", () => {
    expect(circleFaults(sources, "src/store/")).toEqual([]);
  });

  test("sends text to PostgreSQL only in the folder of statements", () => {
    expect(faultsOf(statementFaults)).toEqual([]);
  });

  test("names a kind of ledger only in its folder and in the registry", () => {
    expect(faultsOf(ledgerNameFaults)).toEqual([]);
  });

  test("is spelt in British English", () => {
    expect(faultsOf(wordFaults, named)).toEqual([]);
  });

  test("has no line over 100 columns, or 120 in Markdown", () => {
    expect(files.flatMap(columnFaults)).toEqual([]);
  });

  test("is named in kebab-case after what it owns", () => {
    expect(sources.flatMap(({ path }) => fileNameFaults(path))).toEqual([]);
  });
});

describe("every statement on an organisation's tables", () => {
  const tables = tenantTables(schema);
  const inLayers = sources.filter(({ path }) => path.startsWith("src/"));

  test("names the organisation, or stands in the list of those that need not", () => {
    expect(tables).toContain("subscriptions");
    expect(faultsOf((source) => tenantFaults(source, tables, excused), inLayers)).toEqual([]);
  });

  test("stands in that list only while it exists", () => {
    const gone = excused.filter(
      ({ path, contains }) =>
        !sources.some((source) => source.path === path && source.text.includes(contains)),
    );
    expect(gone).toEqual([]);
  });
});

describe("the rules themselves", () => {
  const at = (path: string, text: string) => readSource(path, text);

  test("miss no file without head comment, no bare export and no file that is too long", () => {
    expect(headCommentFaults(at("src/a.ts", "const a = 1;\n"))).toHaveLength(1);
    expect(
      exportFaults(at("src/a.ts", "/** Head. */\nexport const a = 1;\n\nexport interface B {}\n")),
    ).toEqual(["src/a.ts:4 document the export B"]);
    expect(
      exportFaults(at("src/a.ts", "/** Signs. */\nexport const a = 1;\nexport const b = 2;\n")),
    ).toEqual([]);
    expect(sizeFaults(at("src/a.ts", "x\n".repeat(301)))).toHaveLength(1);
    expect(sizeFaults(at("test/a.ts", "x\n".repeat(301)))).toEqual([]);
  });

  test.each([
    "class Thing {}",
    "export default 1;",
    "const a: any = 1;",
    "const b = a!.c;",
    "const c = list[0]!;",
    "test.skip('x', f);",
    "enum Colour { Red }",
  ])("find the construct in %s", (code) => {
    expect(constructFaults(at("src/a.ts", code))).toHaveLength(1);
  });

  test.each([
    "class Refused extends Error {}",
    "class NotThere extends RangeError {}",
    "class Connection extends pg.Client {}",
    "if (a !== b && !c) d();",
    'const text = "class Any extends x!.y";',
    "/** any class, export default */",
    "const pattern = /class \\w+!;/;",
  ])("leave alone %s", (code) => {
    expect(constructFaults(at("src/a.ts", code))).toEqual([]);
  });

  test("find an import that leaves its layer, and allow types if only types may cross", () => {
    expect(layerFaults(at("src/domain/a.ts", 'import { b } from "../store/b.ts";'))).toHaveLength(
      1,
    );
    expect(layerFaults(at("src/domain/a.ts", 'import { b } from "./pricing/b.ts";'))).toEqual([]);
    expect(layerFaults(at("src/domain/a.ts", 'import fs from "node:fs";'))).toHaveLength(1);
    expect(layerFaults(at("src/present/a.ts", 'import { b } from "../store/b.ts";'))).toHaveLength(
      1,
    );
    expect(layerFaults(at("src/present/a.ts", 'import type { B } from "../store/b.ts";'))).toEqual(
      [],
    );
    expect(layerFaults(at("src/services/a/b.ts", 'import pg from "pg";'))).toHaveLength(1);
    expect(
      layerFaults(at("src/services/a/b.ts", 'const x = await import("../../ledger/xero/x.ts");')),
    ).toHaveLength(1);
    expect(
      layerFaults(at("workflows/a.ts", 'import { proxyActivities } from "@temporalio/workflow";')),
    ).toEqual([]);
    expect(layerFaults(at("workflows/a.ts", 'import { readFile } from "node:fs";'))).toHaveLength(
      1,
    );
  });

  test("find folders that import each other, also over a third, and allow types to", () => {
    const [first, second, third] = [
      at("src/store/a/x.ts", 'import { y } from "../b/deeper/y.ts";'),
      at("src/store/b/y.ts", 'import { z } from "../c/z.ts";'),
      at("src/store/c/z.ts", 'import { x } from "../a/x.ts";'),
    ];
    expect(circleFaults([first, second, third], "src/store/")).toHaveLength(3);
    expect(circleFaults([first, second], "src/store/")).toEqual([]);
    const typed = at("src/store/c/z.ts", 'import type { X } from "../a/x.ts";');
    expect(circleFaults([first, second, typed], "src/store/")).toEqual([]);
    const within = [
      at("src/store/a/x.ts", 'import { y } from "./deeper/y.ts";'),
      at("src/store/a/deeper/y.ts", 'import { x } from "../x.ts";'),
    ];
    expect(circleFaults(within, "src/store/")).toEqual([]);
  });

  test("find American spelling in names and comments but not in strings", () => {
    expect(wordFaults(at("src/a.ts", "const organizationId = 1;"))).toHaveLength(1);
    expect(wordFaults(at("src/a.ts", "/** The catalog. */"))).toHaveLength(1);
    expect(wordFaults(at("src/a.ts", 'const column = "organization";'))).toEqual([]);
    expect(fileNameFaults("src/date-utils.ts")).toHaveLength(1);
    expect(fileNameFaults("src/dateThing.ts")).toHaveLength(1);
  });

  test("find a kind of ledger that code, comments or strings name outside its folder", () => {
    for (const text of ["xeroPath();", "// As in Xero.", 'const kind = "XERO";'])
      expect(ledgerNameFaults(at("src/services/a.ts", text))).toHaveLength(1);
    expect(ledgerNameFaults(at("workflows/a.ts", "// xero"))).toHaveLength(1);
    for (const path of ["src/ledger/xero/a.ts", "src/ledger/index.ts", "test/a.ts"])
      expect(ledgerNameFaults(at(path, "// xero"))).toEqual([]);
  });

  test("find a statement without its organisation, and excuse what the list names", () => {
    const tables = ["plans"];
    const source = at("src/store/a.ts", "const text = `SELECT * FROM plans WHERE id = $1`;");
    expect(tenantFaults(source, tables, [])).toHaveLength(1);
    const excuse = {
      path: "src/store/a.ts",
      contains: "FROM plans WHERE id",
      reason: "an example",
    };
    expect(tenantFaults(source, tables, [excuse])).toEqual([]);
    const scoped = "const text = `SELECT * FROM plans WHERE organisation_id = $1`;";
    expect(tenantFaults(at("src/store/a.ts", scoped), tables, [])).toEqual([]);
  });
});
