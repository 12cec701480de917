/**
 * The definition of a noun of the command line. It is mostly data; commands, help and completion
 * are built from it.
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { ApiConnection } from "./connection.ts";
import type { Json } from "./output/message-json.ts";
import type { Terminal } from "./terminal.ts";

/** A column of a list: a path into the row (`mapping.tax_type`), or a title with a function. */
export type Column = string | { readonly title: string; readonly of: (row: Json) => string };

/** How to find an object by its code, number or name if an id is needed. */
export interface NameLookup {
  /** The object's name in a refusal: `plan`. */
  readonly kind: string;
  /** A list method. It takes `organisation` and the filter `by`, unless that is `name`. */
  readonly list: DescMethodUnary;
  /** What finds the object. `code` if absent. A part of a name is enough. */
  readonly by?: "code" | "number" | "name";
}

/** An option that is not a field of the request. */
export interface ExtraOption {
  /** The flags in commander's form: `--search <text>`. */
  readonly flags: string;
  readonly description: string;
}

/** The input of a verb that makes more than one call. */
export interface Work {
  readonly terminal: Terminal;
  readonly connection: ApiConnection;
  /** The request as JSON, from file, options and arguments. */
  readonly request: Json;
  /** The values of the extra options, by their camelCase names. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One command. */
export interface Verb {
  readonly name: string;
  /** Whether the noun without a verb is this verb. */
  readonly isDefault?: true;
  readonly method: DescMethodUnary;
  /** A second method that `work` calls. It has no command itself. */
  readonly also?: DescMethodUnary;
  /** One sentence for help. */
  readonly summary: string;
  /** More help for a person, after the summary. */
  readonly details?: string;
  /** Example calls, without the leading `billing `. */
  readonly examples: readonly string[];
  /** Fields that are positional arguments, in order. */
  readonly places?: readonly string[];
  /** The help text of each field that is an option, by its proto name. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Fields that can be set only by a file. */
  readonly fileFields?: readonly string[];
  /** Whether the request may be a JSON file (`--file`). */
  readonly takesFile?: boolean;
  /** Whether an optional `organisation` is that of the settings if it is left out. */
  readonly narrowsToSetting?: true;
  /** Whether `id` is an organisation's, which its name can replace. */
  readonly ofOrganisations?: boolean;
  /** Fields that accept a code or a number instead of an id. */
  readonly lookups?: Readonly<Record<string, NameLookup>>;
  /**
   * A sentence that says what cannot be undone about this request. `null` if all of it can be
   * undone.
   */
  readonly irreversible?: (request: Json) => string | null;
  /** The member of the response that is the list. `data` if absent. */
  readonly rows?: string;
  /** The columns of a list's table. */
  readonly columns?: readonly Column[];
  /**
   * What `--lines` lists in place of the rows: the elements of this member of each row. A column
   * has the element as `line`, its number as `position`, and the members of the row.
   */
  readonly inner?: { readonly member: string; readonly columns: readonly Column[] };
  /** The lines that are shown to a person in place of a table. */
  readonly lines?: (
    response: Json,
    work: Work,
    before: unknown,
  ) => readonly string[] | Promise<readonly string[]>;
  /** Reads before the call what `lines` compare with afterwards. */
  readonly before?: (work: Work) => Promise<unknown>;
  readonly extra?: readonly ExtraOption[];
  /** Applies the extra options to the request. Throws `UsageError` if their values are invalid. */
  readonly withExtra?: (request: Json, extra: Work["extra"]) => Json;
  /** Replaces the single call. Its result is shown. */
  readonly work?: (work: Work) => Promise<Json>;
  /** Whether `work` has written its result as it came. */
  readonly isStream?: true;
  /**
   * Whether a successful response still contains a failure. The command then ends with the exit
   * code of a refusal.
   */
  readonly failed?: (response: Json, extra: Work["extra"]) => boolean;
}

/** A noun with its verbs. */
export interface Noun {
  readonly name: string;
  readonly summary: string;
  readonly verbs: readonly Verb[];
}

/** The help text of the field that nearly every request has. */
export const organisationField = "the organisation's id or name; BILLING_ORGANISATION if left out";

/** The help text of the field by which a change is refused if its preview is out of date. */
export const previewedStateText =
  "previewed_state of the preview; the change is refused if it is another state by now";
