/**
 * Writes the OpenAPI document from the proto files and their comments (a step of `npm run gen`).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createFileRegistry, fromBinary, type Registry } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { runProgram } from "../run-program.ts";
import { openApiDocument } from "./document.ts";

/**
 * Writes the document of the contract below `root` to `path`, without white space: it is served as
 * it is.
 */
export function writeOpenApi(root: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(openApiDocument(contractRegistry(root))));
}

/**
 * Returns the contract with its comments. The generated code omits comments from its descriptors;
 * buf's image keeps them.
 */
export function contractRegistry(root: string): Registry {
  const image = runProgram(root, "buf", [
    "build",
    "--as-file-descriptor-set",
    "--path",
    "proto/billing",
    "-o",
    "-",
  ]);
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
}
