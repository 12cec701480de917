/**
 * Where Prisma's own command line finds schema, migrations and database:
 * `npx prisma migrate status --config prisma/config.ts`.
 */
import { defineConfig } from "prisma/config";

export default defineConfig({
  schema: "schema.prisma",
  migrations: { path: "migrations" },
  datasource: { url: process.env.DATABASE_URL ?? "" },
});
