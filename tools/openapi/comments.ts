/** Reads the manual's text from the comments of the proto files. */
import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/**
 * Returns the comment above an element as Markdown, each paragraph on one line. Throws if there is
 * none, because the comments are the public manual.
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

/** A longer sentence is cut: a summary is a line of a reference's navigation. */
const maxSummaryLength = 65;

/**
 * Returns the first sentence of a description, without its full stop. Of a long one this is the
 * part before the first comma or colon.
 */
export function summary(text: string): string {
  const sentence = text.split(/\.(?:\s|$)/, 1)[0] ?? text;
  if (sentence.length <= maxSummaryLength) return sentence;
  return sentence.split(/[,:;]/, 1)[0] ?? sentence;
}
