/** The previous name of `layers.ts`, for one test until it imports the new one. */
export { importsOf } from "./layers.ts";
