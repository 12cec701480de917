/**
 * The names of the output formats. The formats are another file, because only some calls need its
 * libraries.
 */

/** The formats that `-o` takes. */
export const outputFormats = ["table", "json", "yaml", "csv"] as const;

/** A format of the output. */
export type OutputFormat = (typeof outputFormats)[number];
