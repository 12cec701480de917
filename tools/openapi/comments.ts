/** The words of the manual: what the comments of the proto files say about an element. */
import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/**
 * The comment above an element as Markdown, each paragraph on one line. Throws where there is none: the comments are the
 * public manual, so nothing may go without.
 */
export function description(element: Exclude<AnyDesc, DescFile>): string {
  const text = getComments(element).leading ?? "";
  const paragraphs = text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim().replaceAll(/\s*\n\s*/g, " "))
    .filter((paragraph) => paragraph !== "");
  if (paragraphs.length === 0) throw new Error(`${element} has no comment`);
  return paragraphs.join("\n\n");
}

/** The first sentence of a description, without its full stop. */
export function summary(text: string): string {
  return text.split(/\.(?:\s|$)/, 1)[0] ?? text;
}
