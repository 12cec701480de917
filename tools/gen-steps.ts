/**
 * The steps of code generation, with their inputs and outputs. A step is skipped while its inputs
 * are unchanged.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { awaitProgram } from "./run-program.ts";

/** One generation step. Paths are relative to the root of the repository. */
export interface Step {
  readonly name: string;
  /** Files and folders whose content decides whether the step is due. */
  readonly inputs: readonly string[];
  /** Paths that must exist for the step to count as done. */
  readonly outputs: readonly string[];
  /**
   * The step is skipped while one of these does not exist. A production installation has no
   * generators and starts with the code that was generated before.
   */
  readonly needs?: readonly string[];
  run(root: string): Promise<void>;
}

/** All steps, in the order of their dependencies. */
export const steps: readonly Step[] = [
  {
    name: "third-party protos",
    inputs: [
      "tools/third-party-protos.ts",
      "tools/print-proto.ts",
      "proto/grpc",
      "node_modules/protobufjs/package.json",
      "node_modules/grpc-health-check/package.json",
      "node_modules/@bufbuild/protovalidate/package.json",
    ],
    outputs: [".proto-deps/by-npm-run-gen/buf/validate/validate.proto"],
    needs: ["node_modules/grpc-health-check/package.json"],
    async run(root) {
      const { layThirdPartyProtos } = await import("./third-party-protos.ts");
      layThirdPartyProtos(root);
    },
  },
  {
    name: "messages",
    inputs: [
      "proto",
      ".proto-deps",
      "buf.yaml",
      "buf.gen.yaml",
      "node_modules/@bufbuild/protoc-gen-es/package.json",
    ],
    outputs: ["src/gen/proto/billing/v1/subscriptions_pb.ts"],
    needs: ["node_modules/@bufbuild/protoc-gen-es/package.json"],
    async run(root) {
      await awaitProgram(root, "buf", ["generate"]);
    },
  },
  {
    name: "database client",
    inputs: [
      "prisma/schema.prisma",
      "prisma/config.ts",
      "prisma.config.ts",
      "node_modules/prisma/package.json",
    ],
    outputs: ["src/gen/prisma"],
    needs: ["prisma/schema.prisma", "node_modules/prisma/package.json"],
    async run(root) {
      // `generate` never runs the schema engine, but searches for it and would download it. Any
      // program satisfies this check.
      await awaitProgram(root, "prisma", ["generate", "--schema", "prisma/schema.prisma"], {
        PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true",
        PRISMA_HIDE_UPDATE_MESSAGE: "1",
        CHECKPOINT_DISABLE: "1",
      });
    },
  },
  {
    name: "database columns",
    inputs: ["prisma/schema.prisma", "tools/database-columns.ts"],
    outputs: ["src/gen/columns.ts"],
    needs: ["prisma/schema.prisma", "tools/database-columns.ts"],
    async run(root) {
      const { writeColumns } = await import("./database-columns.ts");
      writeColumns(join(root, "prisma/schema.prisma"), join(root, "src/gen/columns.ts"));
    },
  },
  {
    name: "OpenAPI document",
    inputs: [
      "proto",
      ".proto-deps",
      "tools/openapi",
      "src/transport/rest/json-shape.ts",
      "src/transport/rpc/validation/enum-words.ts",
      "src/transport/rpc/operation.ts",
      "src/domain/refusal.ts",
      "src/domain/events/event.ts",
      "tools/run-program.ts",
    ],
    outputs: ["src/gen/openapi.json"],
    needs: ["tools/openapi/write.ts", "node_modules/@bufbuild/buf/package.json"],
    async run(root) {
      const { writeOpenApi } = await import("./openapi/write.ts");
      writeOpenApi(root, join(root, "src/gen/openapi.json"));
    },
  },
  {
    name: "documentation site",
    inputs: [
      "docs",
      "README.md",
      "package.json",
      "packages/client/README.md",
      "packages/console/src/design/base.css",
      "packages/console/src/design/tokens.css",
      "packages/console/src/icon.svg",
      "tools/build/licences.ts",
      "tools/docs-site",
      "tools/openapi/refusal-texts.ts",
      "src/gen/openapi.json",
      "node_modules/@fontsource-variable/inter/package.json",
      "node_modules/highlight.js/package.json",
      "node_modules/markdown-it/package.json",
      "node_modules/minisearch/package.json",
    ],
    outputs: ["src/gen/docs-site/platforms/docs.html", "src/gen/docs-site/operators/docs.html"],
    needs: ["docs", "tools/docs-site/write.ts", "node_modules/markdown-it/package.json"],
    async run(root) {
      const { writeDocsSites } = await import("./docs-site/write.ts");
      writeDocsSites(root, join(root, "src/gen/openapi.json"), join(root, "src/gen/docs-site"));
    },
  },
  {
    name: "client code",
    inputs: ["tools/packages/client-code.ts", "src/gen/openapi.json"],
    outputs: ["packages/client/src/gen/api.ts"],
    needs: ["packages/client/src/index.ts", "tools/packages/client-code.ts"],
    async run(root) {
      const { writeClientCode } = await import("./packages/client-code.ts");
      writeClientCode(
        join(root, "src/gen/openapi.json"),
        join(root, "packages/client/src/gen/api.ts"),
      );
    },
  },
  {
    name: "console messages",
    inputs: [
      "proto",
      ".proto-deps",
      "buf.yaml",
      "packages/console/buf.gen.yaml",
      "node_modules/@bufbuild/protoc-gen-es/package.json",
    ],
    outputs: ["packages/console/src/gen"],
    needs: ["packages/console/buf.gen.yaml", "node_modules/@bufbuild/protoc-gen-es/package.json"],
    async run(root) {
      await awaitProgram(root, "buf", ["generate", "--template", "packages/console/buf.gen.yaml"]);
    },
  },
  {
    name: "workflow bundle",
    inputs: [
      "workflows",
      "tools/workflow-bundle.ts",
      "tools/workflow-preload.ts",
      "tools/workflow-tracing.ts",
      "node_modules/@temporalio/worker/package.json",
    ],
    outputs: ["src/gen/workflow-bundle.js"],
    needs: ["workflows/index.ts"],
    async run(root) {
      const { bundleWorkflows } = await import("./workflow-bundle.ts");
      const path = join(root, "src/gen/workflow-bundle.js");
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, await bundleWorkflows(root));
    },
  },
];
