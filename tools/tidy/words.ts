/** One word for each idea, in the specification's spelling: words that are not used here, and which to use instead. */
import { type Fault, matches, type Source } from "./source.ts";

interface BannedWord {
  /** What is not written, in names and in comments. */
  readonly pattern: RegExp;
  /** What is written instead. */
  readonly use: string;
  /** Paths in which the word is another system's own. */
  readonly except?: RegExp;
}

/** The words. Architecture: one word per idea; spec: its own words and spelling. */
export const bannedWords: readonly BannedWord[] = [
  { pattern: /organi[z]ation/gi, use: "organisation" },
  { pattern: /(?<!pg_)catalog(?!ue)/gi, use: "catalogue" },
  { pattern: /behavior/gi, use: "behaviour" },
  // A subscription is ended; what the SDKs of others call cancellation keeps their name.
  {
    pattern: /(?<!Code\.|NGHTTP2_)cancel(?!_at_period_end|AtPeriodEnd|lation\b|lationScope|ledFailure|ledError)\w*/gi,
    use: "end (of a subscription), stop or abort (of work)",
    // A delivery's state is called so in the contract.
    except:
      /^(?:(?:src\/dev|src\/worker\/temporal|workflows)\/|src\/admin\/present\/webhooks\.ts$)/,
  },
  { pattern: /\b(?:TODO|FIXME|XXX)\b/g, use: "nothing: do it now, or leave it out" },
];

/** Words in code and comments; strings are left out, since they quote others (labels, the ledger's own words). */
export function wordFaults(source: Source): Fault[] {
  return bannedWords
    .filter(({ except }) => except === undefined || !except.test(source.path))
    .flatMap(({ pattern, use }) => [
      ...matches(source.code, pattern).map(({ match, line }) => fault(source.path, line, match[0], use)),
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

/** Files are named in kebab-case, after what they own. */
export function fileNameFaults(path: string): Fault[] {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!name.endsWith(".ts")) return [];
  return [
    ...(/^[a-z0-9]+(?:[-.][a-z0-9]+)*\.ts$/.test(name) ? [] : [`${path}:1 name the file in kebab-case`]),
    ...(emptyNames.test(name) ? [`${path}:1 name the file after what it owns`] : []),
  ];
}
