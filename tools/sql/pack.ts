/** Packs what Prettier lays out in a line for each word: lists of plain names, and short cases. */

/** A name, qualified or cast, perhaps with a type or an alias behind it. */
const item = /^[\w$."]+(::\w+(\[\])?)?( (AS )?[\w"]+(\[\])?)?,?$/;

/** Words that begin or end more than a list. */
const keyword = /^(AND|OR|SELECT|FROM|WHERE|SET|VALUES|WITH|CASE|WHEN|ELSE|END|UNION|DISTINCT)\b/;

/** Returns the lines of a statement, each at most `width` wide, with its lists and cases packed. */
export function pack(lines: readonly string[], width: number): string[] {
  return packLists(packCases(lines, width), width);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Plain items that follow each other share lines. */
function packLists(lines: readonly string[], width: number): string[] {
  const packed: string[] = [];
  let isOpen = false;
  for (const line of lines) {
    const text = line.trim();
    const isItem = item.test(text) && !keyword.test(text);
    const last = packed.at(-1) ?? "";
    const fits = last.length + 1 + text.length <= width && indentOf(last) === indentOf(line);
    if (isOpen && isItem && fits) packed[packed.length - 1] = `${last} ${text}`;
    else packed.push(line);
    isOpen = isItem && text.endsWith(",");
  }
  return packed;
}

/** A case of at most two branches without another case in it stands on one line if that fits. */
function packCases(lines: readonly string[], width: number): string[] {
  const packed: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const end = /(^|[ (])CASE( \S+)?$/.test(line) ? endOfCase(lines, index) : index;
    const inner = lines.slice(index + 1, end);
    const joined = [line, ...lines.slice(index + 1, end + 1).map((each) => each.trim())].join(" ");
    const isShort = inner.filter((each) => /^\s*WHEN /.test(each)).length <= 2;
    const isSimple = !inner.some((each) => /\bCASE\b/.test(each));
    const packs = end > index && isShort && isSimple && joined.length <= width;
    packed.push(packs ? joined : line);
    if (packs) index = end;
  }
  return packed;
}

/** The line of the END of the case that begins at `index`. */
function endOfCase(lines: readonly string[], index: number): number {
  const indent = indentOf(lines[index] ?? "");
  const end = lines.findIndex(
    (line, at) => at > index && indentOf(line) === indent && /^\s*END\b/.test(line),
  );
  return end < 0 ? index : end;
}
