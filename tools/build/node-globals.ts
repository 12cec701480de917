/**
 * What CommonJS modules have and ECMAScript modules lack. The bundler takes these for the free
 * names of the packages that it bundles. All code of a build lies in one folder, so they are right
 * in each of its files.
 */
import { fileURLToPath } from "node:url";

/** The file of the code. */
export const __filename: string = fileURLToPath(import.meta.url);

/** The folder of the code. */
export const __dirname: string = fileURLToPath(new URL(".", import.meta.url));
