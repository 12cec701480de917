/**
 * The generators and compilers of clients in other languages: versions, and where they are
 * installed, outside the repository, once a user.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Returns the folder with everything of them. */
export function generatorsFolder(): string {
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(caches, "subscription-billing/client-generators");
}

/** The packages of npm. openapi-typescript needs TypeScript 5. */
export const npmPackages = {
  "openapi-typescript": "7.13.0",
  "openapi-fetch": "0.17.0",
  typescript: "5.9.3",
  "@types/node": "24.19.2",
};

/** The packages of PyPI, with those that the generated clients import. */
export const pythonPackages: readonly string[] = [
  "openapi-python-client==0.29.1",
  "grpcio==1.85.1",
  "grpcio-tools==1.85.1",
  "grpcio-status==1.85.1",
  "googleapis-common-protos==1.76.0",
  "urllib3==2.8.0",
  "python-dateutil",
  "pydantic==2.14.3",
];

/** The programs that Go builds. */
export const goPrograms = {
  "oapi-codegen": "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
  "protoc-gen-go": "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
  "protoc-gen-go-grpc": "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
};

/** The artifact of Maven Central. */
export const mavenArtifact = {
  id: "org.openapitools:openapi-generator-cli:7.25.0",
  file: "openapi-generator-cli-7.25.0.jar",
};

/** The file that a folder of npm or Python has once everything of it is installed. */
export const stampName = ".installed";

/** Whether this file of a generator can be used. An installation may have been stopped midway. */
export function isInstalled(file: string): boolean {
  const stamps = ["npm", "python"]
    .map((part) => join(generatorsFolder(), part))
    .filter((folder) => file.startsWith(`${folder}/`))
    .map((folder) => join(folder, stampName));
  return [file, ...stamps].every((one) => existsSync(one));
}

/** Where each of them is once it is installed. */
export const places = {
  npm: (program: string) => join(generatorsFolder(), "npm/node_modules/.bin", program),
  npmModules: () => join(generatorsFolder(), "npm/node_modules"),
  python: (program: string) => join(generatorsFolder(), "python/bin", program),
  go: (program: string) => join(generatorsFolder(), "go/bin", program),
  jar: () => join(generatorsFolder(), "maven", mavenArtifact.file),
};
