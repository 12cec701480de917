/** What a noun of the command line is: data for the most part, from which commands, help and completion are made. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Connection } from "./connection.ts";
import type { Json } from "./message-json.ts";
import type { Terminal } from "./terminal.ts";

/** A column of a list: a path into the row (`mapping.tax_type`), or a title with a function. */
export type Column = string | { readonly title: string; readonly of: (row: Json) => string };

/** How an object is found by its code where an id is needed. */
export interface Lookup {
  /** What it is called in a refusal: `plan`. */
  readonly kind: string;
  /** A list that takes `organisation` and `code`. */
  readonly list: DescMethodUnary;
}

/** An option beyond the fields of the request. */
export interface ExtraOption {
  /** As commander takes it: `--search <text>`. */
  readonly flags: string;
  readonly description: string;
}

/** What a verb that does more than one call is given. */
export interface Work {
  readonly terminal: Terminal;
  readonly connection: Connection;
  /** The request as JSON, from file, options and arguments. */
  readonly request: Json;
  /** The values of the extra options, by their camelCase names. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One command. */
export interface Verb {
  readonly name: string;
  readonly method: DescMethodUnary;
  /** Another method that its work calls, which has no command of its own. */
  readonly also?: DescMethodUnary;
  /** One sentence. */
  readonly summary: string;
  /** What a person should know beyond it. */
  readonly details?: string;
  /** Calls as they are typed after `billing `. */
  readonly examples: readonly string[];
  /** Fields given by their place, in order. */
  readonly places?: readonly string[];
  /** What each field is that is an option, by its proto name. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Fields that only a file can carry. */
  readonly fileFields?: readonly string[];
  /** Whether the request may be given as JSON, by `--file`. */
  readonly takesFile?: boolean;
  /** Fields in which a code may stand for the id. */
  readonly lookups?: Readonly<Record<string, Lookup>>;
  /** What cannot be undone about this request, as a sentence; `null` where all of it can. */
  readonly irreversible?: (request: Json) => string | null;
  /** The member of the answer that is the list; `data` if left out. */
  readonly rows?: string;
  /** The columns of a list's table. */
  readonly columns?: readonly Column[];
  readonly extra?: readonly ExtraOption[];
  /** The request with what the extra options say. Throws `UsageError` where they say nothing that can be understood. */
  readonly withExtra?: (request: Json, extra: Work["extra"]) => Json;
  /** Does the work instead of the one call; its result is shown. */
  readonly work?: (work: Work) => Promise<Json>;
  /** Whether an answer tells of a failure all the same: the command then ends as refused. */
  readonly failed?: (response: Json, extra: Work["extra"]) => boolean;
}

/** A noun with its verbs. */
export interface Noun {
  readonly name: string;
  readonly summary: string;
  readonly verbs: readonly Verb[];
}

/** The description of a field that nearly every request has. */
export const organisationField = "the organisation's id; BILLING_ORGANISATION if left out";
