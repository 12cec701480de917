/**
 * Splits a TypeScript file into code without comments and strings, comments, and strings, for the
 * tidy rules. It is a scanner, not a parser, which is enough for rules about words. Its tests show
 * what it distinguishes.
 */

/** A comment or a string literal with its place. */
export interface Piece {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

/** One file, split into its parts. */
export interface Source {
  /** Relative to the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  /**
   * The text with comments and the insides of strings replaced by spaces. Every place stays the
   * same.
   */
  readonly code: string;
  readonly comments: readonly Piece[];
  /**
   * String and template literals without their quotes. A template's interpolations are part of it.
   */
  readonly strings: readonly Piece[];
}

/** A violation of a rule: `path:line what to do`. */
export type Fault = string;

/** Splits a file into code, comments and strings. */
export function readSource(path: string, text: string): Source {
  const comments: Piece[] = [];
  const strings: Piece[] = [];
  const code: string[] = [];
  const lineOf = lineCounter(text);
  let at = 0;
  let previous = "";
  while (at < text.length) {
    const end = literalEnd(text, at, previous);
    if (end === null) {
      const token = tokenAt(text, at);
      if (token.trim() !== "") previous = token;
      code.push(token);
      at += token.length;
      continue;
    }
    const piece = { text: text.slice(at, end), line: lineOf(at) };
    const isComment =
      text.startsWith("//", at) || text.startsWith("/*", at) || text.startsWith("#!", at);
    if (isComment) {
      comments.push(piece);
      code.push(blank(piece.text));
    } else {
      if (text.charAt(at) !== "/") strings.push({ ...piece, text: piece.text.slice(1, -1) });
      code.push(text.charAt(at), blank(piece.text.slice(1, -1)), piece.text.slice(1).slice(-1));
      previous = ")";
    }
    at = end;
  }
  return { path, text, code: code.join(""), comments, strings };
}

/** Returns the text with spaces in place of its characters. Its lines stay. */
function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

/** Returns the word, the white space or the sign that begins at `at`. */
function tokenAt(text: string, at: number): string {
  const token = /[\w$]+|\s+|[\s\S]/y;
  token.lastIndex = at;
  return token.exec(text)?.[0] ?? "";
}

/** After one of these a slash begins a regular expression, not a division. */
const keywordsBeforeRegex = /^(return|case|typeof|in|of|void|delete|await|yield)$/;

/**
 * Returns the end of the comment or literal that begins at `at`, or `null` if none begins there.
 */
function literalEnd(text: string, at: number, previous: string): number | null {
  const character = text.charAt(at);
  if (text.startsWith("//", at) || (at === 0 && text.startsWith("#!")))
    return indexOrEnd(text, "\n", at);
  if (text.startsWith("/*", at)) return indexOrEnd(text, "*/", at + 2) + 2;
  if (character === '"' || character === "'") return closing(text, at, character);
  if (character === "`") return templateEnd(text, at);
  const startsRegex =
    character === "/" &&
    (/^[([{,;:=!&|?+\-*%<>~^}]?$/.test(previous) || keywordsBeforeRegex.test(previous));
  return startsRegex ? regexEnd(text, at) : null;
}

function closing(text: string, at: number, quote: string): number {
  let index = at + 1;
  while (index < text.length && text.charAt(index) !== quote)
    index += text.charAt(index) === "\\" ? 2 : 1;
  return index + 1;
}

function regexEnd(text: string, at: number): number {
  let index = at + 1;
  let inClass = false;
  while (index < text.length && (inClass || text.charAt(index) !== "/")) {
    const character = text.charAt(index);
    if (character === "[") inClass = true;
    if (character === "]") inClass = false;
    index += character === "\\" ? 2 : 1;
  }
  return index + 1;
}

/** A template may contain interpolations, which may contain strings and templates. */
function templateEnd(text: string, at: number): number {
  let index = at + 1;
  while (index < text.length && text.charAt(index) !== "`") {
    if (text.charAt(index) === "\\") index += 2;
    else if (text.startsWith("${", index)) index = interpolationEnd(text, index + 2);
    else index += 1;
  }
  return index + 1;
}

function interpolationEnd(text: string, at: number): number {
  let depth = 1;
  let index = at;
  while (index < text.length && depth > 0) {
    const character = text.charAt(index);
    if (character === "`") index = templateEnd(text, index);
    else if (character === '"' || character === "'") index = closing(text, index, character);
    else {
      if (character === "{") depth += 1;
      if (character === "}") depth -= 1;
      index += 1;
    }
  }
  return index;
}

function indexOrEnd(text: string, searched: string, from: number): number {
  const found = text.indexOf(searched, from);
  return found === -1 ? text.length : found;
}

/**
 * Returns a function that gives the line of a place in the text, counted from 1. Each place must be
 * at or after the one before, so that a text is read once.
 */
function lineCounter(text: string): (index: number) => number {
  let line = 1;
  let next = text.indexOf("\n");
  return (index) => {
    for (; next !== -1 && next < index; next = text.indexOf("\n", next + 1)) line += 1;
    return line;
  };
}

/** Returns every match of a pattern in a text, with its line. */
export function matches(text: string, pattern: RegExp): { match: RegExpExecArray; line: number }[] {
  const lineOf = lineCounter(text);
  return [...text.matchAll(pattern)].map((match) => ({ match, line: lineOf(match.index) }));
}
