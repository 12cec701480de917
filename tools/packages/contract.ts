/**
 * Lays the content of `packages/contract` before it is packed (`npm pack -w packages/contract`):
 * the protos with everything that they import, and the code generated from these copies.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { awaitProgram } from "../run-program.ts";
import { thirdPartyFolder } from "../third-party-protos.ts";

const root = join(import.meta.dirname, "../..");
const target = join(root, "packages/contract/proto");

/** The folders that are copied. `google/protobuf` is a part of buf and of protoc. */
const sources = ["proto/billing", `${thirdPartyFolder}/buf`, `${thirdPartyFolder}/google`];

/** The option of copies whose originals have none. Go's generator needs it of every file. */
const annotations = "google.golang.org/genproto/googleapis/api/annotations;annotations";
const goPackages: Readonly<Record<string, string>> = {
  "google/api/annotations.proto": annotations,
  "google/api/http.proto": annotations,
  "buf/validate/validate.proto": "subscription-billing/contract/buf/validate;validate",
};

// Writes the third-party protos.
await awaitProgram(root, "node", ["tools/gen.ts"]);
rmSync(target, { recursive: true, force: true });
for (const source of sources) copyProtos(source);
for (const [path, name] of Object.entries(goPackages)) nameGoPackage(path, name);
await awaitProgram(root, "buf", ["generate", "--template", "packages/contract/buf.gen.yaml"]);

function copyProtos(source: string): void {
  const below = dirname(source);
  for (const entry of readdirSync(join(root, source), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".proto")) continue;
    const path = join(entry.parentPath, entry.name);
    cpSync(path, join(target, path.slice(join(root, below).length)));
  }
}

function nameGoPackage(path: string, name: string): void {
  const file = join(target, path);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^package .*;$/m, `$&\n\noption go_package = "${name}";`));
}
