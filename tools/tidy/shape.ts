/**
 * Rules on the shape of a file: its head comment, documented exports, its size, and unused
 * constructs.
 */
import { type Fault, matches, type Source } from "./source.ts";

/** The most lines that a file may have. Tests list cases and may have more. */
const maxLines = { source: 300, test: 400 } as const;

/** The start of the head comment in each kind of file. */
const headComments: readonly (readonly [extension: string, start: string])[] = [
  [".ts", "/**"],
  [".tsx", "/**"],
  [".proto", "//"],
  [".prisma", "//"],
  [".sql", "--"],
];

/** Returns a fault for a file that does not begin with a comment on what it owns. */
export function headCommentFaults({ path, text }: Pick<Source, "path" | "text">): Fault[] {
  const start = headComments.find(([extension]) => path.endsWith(extension))?.[1];
  const isThere = start === undefined || text.replace(/^#!.*\n/, "").startsWith(start);
  return isThere ? [] : [`${path}:1 begin with a comment (${start}) that says what the file owns`];
}

/** Returns a fault for each export without a docstring. A re-export is documented at its source. */
export function exportFaults({ path, text, code }: Source): Fault[] {
  const exported = new RegExp(
    "^export (?:declare )?(?:async )?" +
      "(?:function\\*?|const|let|interface|type|class|abstract class) +([\\w$]+)",
    "gm",
  );
  const lines = text.split("\n");
  return matches(code, exported)
    .filter(({ match }) => !/^export type\s*[{*]/.test(match[0]))
    .filter(({ line, match }) => !isDocumented(lines, line, match[1] ?? ""))
    .map(({ line, match }) => `${path}:${line} document the export ${match[1]}`);
}

/**
 * The line above ends a comment. Further signatures of an overload share the first one's comment. A
 * group of one-line constants shares the comment above it.
 */
function isDocumented(lines: readonly string[], line: number, name: string): boolean {
  const oneLine = /^export const .*;$/;
  let above = line - 2;
  if (oneLine.test(lines[line - 1] ?? "")) while (oneLine.test(lines[above] ?? "")) above -= 1;
  if ((lines[above] ?? "").trim().endsWith("*/")) return true;
  return new RegExp(`^export (async )?function ${name}\\b.*;$`).test(lines[above] ?? "");
}

/** Returns a fault for a file over the limit, because it owns two things. */
export function sizeFaults({ path, text }: Pick<Source, "path" | "text">): Fault[] {
  const limit = /^(?:packages\/[^/]+\/)?test\//.test(path) ? maxLines.test : maxLines.source;
  const count = text.split("\n").length - 1;
  return count > limit
    ? [`${path}:${limit} has ${count} lines: split it, ${limit} is the limit`]
    : [];
}

interface Construct {
  readonly pattern: RegExp;
  readonly advice: string;
  /** Paths to which the rule does not apply. */
  readonly except?: RegExp;
}

const constructs: readonly Construct[] = [
  {
    pattern: /\bclass\s+\w+(?!\w)(?!\s+extends\s+(?:pg\.|\w*(?:Error|Failure|Refusal)\b))/g,
    advice: "only errors and the driver's connections are classes: use functions over plain values",
  },
  // Configuration files of tools must export by default.
  { pattern: /\bexport\s+default\b/g, advice: "export by name", except: /(^|[./])config\.ts$/ },
  {
    pattern: /(?::|<|,|\||&|=>|\bas)\s*any\b(?!\s*[:(])/g,
    advice: "name the type, or take unknown",
    // Tests there read answers of every shape, and the contract tests check the shapes.
    except: /^test\/support\/answer\.ts$/,
  },
  {
    pattern: /[\w)\]]!(?=\s*[.;,)\]}[]|\s*$)/gm,
    advice: "test for undefined instead of asserting with !",
  },
  {
    pattern: /\b(?:describe|test|it)\.(?:skip|only|todo|fails)\b/g,
    advice: "no test is skipped, singled out or postponed",
  },
  {
    pattern: /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s/gm,
    advice: "use a union of strings",
  },
];

/** Returns a fault for each construct that this project does not use. */
export function constructFaults({ path, code }: Source): Fault[] {
  return constructs
    .filter(({ except }) => except === undefined || !except.test(path))
    .flatMap(({ pattern, advice }) =>
      matches(code, pattern).map(({ line }) => `${path}:${line} ${advice}`),
    );
}
