/** The programs of a build: the name of each in `dist/`, and the file that it is built from. */

/** The programs by name. `billing` is also the package's command. */
export const programs = {
  server: "src/server.ts",
  worker: "src/worker.ts",
  migrate: "tools/db-migrate.ts",
  schedules: "src/main/commands/schedules.ts",
  config: "src/main/commands/config.ts",
  operator: "tools/operator.ts",
  billing: "packages/cli/src/main.ts",
  "demo-ledger": "packages/demo-ledger/src/main.ts",
  "demo-data": "packages/dev/src/demo-data.ts",
} as const;

/** The name of a program of the build. */
export type ProgramName = keyof typeof programs;
