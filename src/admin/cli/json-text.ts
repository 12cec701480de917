/**
 * JSON as text for a terminal: the same value, without a character that could steer what shows it.
 */

/**
 * Indented JSON. Controls, direction marks and line separators are escaped, which every reader of
 * JSON undoes.
 */
export function jsonText(value: unknown): string {
  // Outside of strings stands ASCII alone, and its line breaks are the indentation's.
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
