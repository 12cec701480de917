/** The spelling of words in names and comments, and the names of files. */
import { type Fault, matches, type Source } from "./source.ts";

interface BannedWord {
  /** The forbidden word, in names and in comments. */
  readonly pattern: RegExp;
  /** The replacement. */
  readonly use: string;
}

/** The project's spelling is British. */
const bannedWords: readonly BannedWord[] = [
  { pattern: /organi[z]ation/gi, use: "organisation" },
  { pattern: /(?<!pg_)catalog(?!ue)/gi, use: "catalogue" },
  // Worker versioning is of a foreign SDK.
  { pattern: /(?<!Versioning)behavior/gi, use: "behaviour" },
  { pattern: /\b(?:TODO|FIXME|XXX)\b/g, use: "nothing: do it now, or leave it out" },
];

/**
 * Returns a fault for each forbidden word in code and comments. Strings are excluded, because they
 * quote others (labels, the ledger's own words).
 */
export function wordFaults(source: Source): Fault[] {
  return bannedWords.flatMap(({ pattern, use }) => [
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
