/**
 * Formats JSON for a terminal: the same value, without characters that could control the terminal.
 */

/**
 * Indented JSON. Controls, direction marks and line separators are escaped. Every JSON parser
 * reverses that.
 */
export function jsonText(value: unknown): string {
  // Outside of strings JSON is ASCII only, and its line breaks come from the indentation.
  const text = JSON.stringify(value, null, 2).replaceAll(steering, (character) => {
    return character === "\n" ? character : character.split("").map(escaped).join("");
  });
  return `${text}\n`;
}

/**
 * Controls (Cc), formats such as direction marks (Cf), line and paragraph separators (Zl, Zp).
 * Unicode, chapter 4.5.
 */
export const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escaped(codeUnit: string): string {
  return `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
