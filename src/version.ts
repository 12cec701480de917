/**
 * The version of this software. The file belongs to no layer, so the command line may import it. A
 * build has the version in its code.
 */
import manifest from "../package.json" with { type: "json" };

/** The version, such as `1.0.0`. */
export const { version } = manifest;
