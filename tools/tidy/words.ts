/**
 * One word for each idea: forbidden words and their replacements. `node tools/tidy/words.ts [path]`
 * prints how many words each folder has that the glossary replaces, and those below the path.
 */
import { join } from "node:path";
import { codeFolders, pages, printFaults, readFiles, type TextFile } from "./files.ts";
import { allowedPhrases, type ReplacedWord, replacedWords } from "./replaced-words.ts";
import { type Fault, matches, type Piece, readSource, type Source } from "./source.ts";

interface BannedWord {
  /** The forbidden word, in names and in comments. */
  readonly pattern: RegExp;
  /** The replacement. */
  readonly use: string;
  /** Paths in which the word belongs to another system. */
  readonly except?: RegExp;
}

/** The forbidden words. `docs/glossary.md` has the words in use. */
const bannedWords: readonly BannedWord[] = [
  { pattern: /organi[z]ation/gi, use: "organisation" },
  { pattern: /(?<!pg_)catalog(?!ue)/gi, use: "catalogue" },
  // Worker versioning is of a foreign SDK.
  { pattern: /(?<!Versioning)behavior/gi, use: "behaviour" },
  // A subscription is ended. The names of foreign SDKs keep their word cancellation.
  {
    pattern: new RegExp(
      "(?<!Code\\.|NGHTTP2_)cancel" +
        "(?!_at_period_end|AtPeriodEnd|lation\\b|lationScope|ledFailure|ledError)\\w*",
      "gi",
    ),
    use: "end (of a subscription), stop or abort (of work)",
    // The contract uses this word for a delivery's state.
    except:
      /^(?:(?:packages\/dev|src\/worker\/temporal|workflows)\/|src\/admin\/present\/webhooks\.ts$)/,
  },
  { pattern: /\b(?:TODO|FIXME|XXX)\b/g, use: "nothing: do it now, or leave it out" },
];

/**
 * Returns a fault for each forbidden word in code and comments. Strings are excluded, because they
 * quote others (labels, the ledger's own words).
 */
export function wordFaults(source: Source): Fault[] {
  return bannedWords
    .filter(({ except }) => except === undefined || !except.test(source.path))
    .flatMap(({ pattern, use }) => [
      ...matches(source.code, pattern).map(({ match, line }) =>
        fault(source.path, line, match[0], use),
      ),
      ...source.comments.flatMap((comment) =>
        matches(comment.text, pattern).map(({ match, line }) =>
          fault(source.path, comment.line + line - 1, match[0], use),
        ),
      ),
    ]);
}

function fault(path: string, line: number, word: string, use: string): Fault {
  return `${path}:${line} "${word}": use ${use}`;
}

/** A word with the line on which it stands. */
interface Word {
  readonly text: string;
  readonly line: number;
}

type Kind = "names" | "prose";

/**
 * Returns a fault for each word in names, comments, strings and paths that the glossary replaces.
 * A file that is read into its parts is not read again, unless it has allowed phrases.
 */
export function glossaryFaults(file: TextFile | Source): Fault[] {
  const { path } = file;
  const text = withoutAllowed(file);
  const faults = [
    ...path.split("/").flatMap((segment) => find(path, "names", wordsOf(segment, 1))),
    ...(path.endsWith(".ts") ? codeFaults(sourceOf(file, text)) : textFaults(path, text)),
  ];
  return [...new Set(faults)];
}

function sourceOf(file: TextFile | Source, text: string): Source {
  return "code" in file && file.text === text ? file : readSource(file.path, text);
}

/** Replaces allowed phrases with letters of the same length, so that every place stays the same. */
function withoutAllowed({ path, text }: TextFile): string {
  return allowedPhrases
    .filter(({ paths }) => paths === undefined || paths.test(path))
    .reduce((rest, { pattern }) => rest.replace(pattern, (one) => one.replace(/\S/g, "x")), text);
}

function codeFaults({ path, code, comments, strings }: Source): Fault[] {
  return [
    ...nameFaults(path, code, 1, /[A-Za-z_$][\w$]*/g),
    ...comments.flatMap((piece) => proseFaults(path, piece.text, piece.line)),
    ...strings.flatMap((piece) => stringFaults(path, piece)),
  ];
}

/** A string is prose. Identifiers in it, and every word of a statement, are names too. */
function stringFaults(path: string, { text, line }: Piece): Fault[] {
  const isStatement = /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH)\b/.test(text);
  const names = isStatement
    ? /[A-Za-z_][\w$]*/g
    : /\$\{[^}]*\}|\b[A-Za-z]\w*_\w+|\b[a-z]+[A-Z]\w*/g;
  return [...proseFaults(path, text, line), ...nameFaults(path, text, line, names)];
}

/** Protos, the schema and migrations: comments are prose, all else is names. */
function textFaults(path: string, text: string): Fault[] {
  if (!/\.(?:proto|prisma|sql)$/.test(path)) return proseFaults(path, text, 1);
  const comment = path.endsWith(".sql") ? /--.*$/gm : /\/\/.*$/gm;
  const comments = text.replace(/[^\n]+/g, (line) => line.match(comment)?.[0] ?? "");
  return [
    ...proseFaults(path, comments, 1),
    ...nameFaults(path, text.replace(comment, ""), 1, /[A-Za-z_]\w*/g),
  ];
}

function nameFaults(path: string, text: string, line: number, names: RegExp): Fault[] {
  return text
    .split("\n")
    .flatMap((each, index) =>
      (each.match(names) ?? []).flatMap((name) => nameFault(path, name, line + index)),
    );
}

function proseFaults(path: string, text: string, line: number): Fault[] {
  return hasFaults("prose", text) ? find(path, "prose", wordsOf(text, line)) : [];
}

function nameFault(path: string, name: string, line: number): Fault[] {
  let isWithout = withoutFaults.get(name);
  if (isWithout === undefined) {
    isWithout = !hasFaults("names", name);
    withoutFaults.set(name, isWithout);
  }
  return isWithout ? [] : find(path, "names", wordsOf(name, line));
}

/** Splits text and its identifiers into lower-case words. */
function wordsOf(text: string, line: number): readonly Word[] {
  return text.split("\n").flatMap((each, index) =>
    phraseOf(each)
      .split(" ")
      .filter((word) => word !== "")
      .map((word) => ({ text: word, line: line + index })),
  );
}

/** Returns the lower-case words of text and its identifiers, with single spaces. */
function phraseOf(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[^a-z]+/g, " ")
    .trim();
}

/** Whether a name has no replaced word. The same names occur in many places. */
const withoutFaults = new Map<string, boolean>();

/** The patterns of each kind as one, to pass over a text without a replaced word at once. */
const anyWord: Readonly<Record<Kind, RegExp>> = {
  names: patternOfAll("names"),
  prose: patternOfAll("prose"),
};

function patternOfAll(kind: Kind): RegExp {
  return new RegExp(
    wordsFor(kind)
      .map(({ pattern }) => pattern.source)
      .join("|"),
  );
}

function hasFaults(kind: Kind, text: string): boolean {
  return anyWord[kind].test(phraseOf(text));
}

function wordsFor(kind: Kind): readonly ReplacedWord[] {
  return replacedWords.filter((word) => word.in === "both" || word.in === kind);
}

function find(path: string, kind: Kind, words: readonly Word[]): Fault[] {
  const phrase = words.map(({ text }) => text).join(" ");
  const lineOf = (index: number) => words[phrase.slice(0, index).split(" ").length - 1]?.line ?? 1;
  return wordsFor(kind)
    .filter((word) => word.paths === undefined || word.paths.test(path))
    .flatMap((word) =>
      [...phrase.matchAll(word.pattern)].map((found) =>
        fault(path, lineOf(found.index), found[0], word.use),
      ),
    );
}

/** The lists of these words, and the tests of the rules, name what they forbid. */
export function namesWords({ path }: Pick<TextFile, "path">): boolean {
  return /^(?:tools\/tidy\/(?:replaced-)?words\.ts|test\/tidy(?:\.test\.ts$|\/))/.test(path);
}

/** Names that say nothing about what the file owns. */
const emptyNames = /(?:^|[-.])(?:utils?|helpers?|managers?|misc|common|shared)(?:[-.]|$)/;

/** Returns the faults of a file's name: it must be kebab-case and name what the file owns. */
export function fileNameFaults(path: string): Fault[] {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!name.endsWith(".ts")) return [];
  return [
    ...(/^[a-z0-9]+(?:[-.][a-z0-9]+)*\.ts$/.test(name)
      ? []
      : [`${path}:1 name the file in kebab-case`]),
    ...(emptyNames.test(name) ? [`${path}:1 name the file after what it owns`] : []),
  ];
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, "../..");
  const entries = [...codeFolders, ...pages];
  printFaults(
    readFiles(root, entries)
      .filter((file) => !namesWords(file))
      .flatMap(glossaryFaults),
    process.argv[2],
  );
}
