/**
 * Copies foreign protos from installed npm packages into a git-ignored folder, so that buf needs no
 * registry and no network. They are the imports of our protos, and the protos that the server also
 * serves.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { printProto } from "./print-proto.ts";

/** The folder of foreign protos, as in `buf.yaml`. buf shows this path if it is missing. */
export const thirdPartyFolder = ".proto-deps/by-npm-run-gen";

/** Rewrites the whole folder below `root`. Returns the written paths, relative to it. */
export function layThirdPartyProtos(root: string): string[] {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const files: Readonly<Record<string, string>> = {
    "google/api/annotations.proto": read("node_modules/protobufjs/google/api/annotations.proto"),
    "google/api/http.proto": read("node_modules/protobufjs/google/api/http.proto"),
    "grpc/health/v1/health.proto": read(
      "node_modules/grpc-health-check/proto/health/v1/health.proto",
    ),
    // The same protocol under its old name, which many clients request first.
    "grpc/reflection/v1alpha/reflection.proto": read(
      "proto/grpc/reflection/v1/reflection.proto",
    ).replace("package grpc.reflection.v1;", "package grpc.reflection.v1alpha;"),
    "buf/validate/validate.proto": printProto(file_buf_validate_validate),
  };
  const folder = join(root, thirdPartyFolder);
  rmSync(dirname(folder), { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  return Object.keys(files);
}
