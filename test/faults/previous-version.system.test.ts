/**
 * A process of the previous version serves over the schema of this one, as it does while an upgrade
 * runs. The previous version is the commit that PREVIOUS_REF names, else the newest tag, else the
 * last commit before the newest migration.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { addMeter, usageEvent } from "../scenario/usage-builder.ts";
import { startSystem } from "../support/system.ts";
import { expectSumsOfEvents } from "../support/usage-sums.ts";
import { subscriptionPost, untilPosted } from "./ledger-documents.ts";
import { postUntil, postUntilCreated, startApiProcess } from "./processes.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

const git = async (...args: string[]) => (await run("git", ["-C", root, ...args])).stdout.trim();

/** The commit of the previous version, or the reason why there is none here. */
async function previousVersion(): Promise<{ readonly ref: string } | { readonly why: string }> {
  const named = process.env.PREVIOUS_REF;
  if (named) return { ref: named };
  try {
    const head = await git("tag", "--points-at", "HEAD");
    const tags = (await git("tag", "--list", "--sort=-v:refname")).split("\n");
    const ref = tags.find((tag) => tag !== "" && !head.split("\n").includes(tag));
    return ref === undefined ? await beforeNewestMigration() : { ref };
  } catch (error) {
    return { why: `git cannot say which: ${(error as Error).message.split("\n")[0]}` };
  }
}

/** The last commit with an older schema. HEAD is, if the newest migration is not committed. */
async function beforeNewestMigration() {
  const migrations = await readdir(join(root, "prisma/migrations"), { withFileTypes: true });
  const names = migrations.filter((one) => one.isDirectory()).map(({ name }) => name);
  const path = `prisma/migrations/${names.toSorted().at(-1)}/migration.sql`;
  const commit = await git("log", "-1", "--diff-filter=A", "--format=%H", "--", path);
  if (commit === "") return { ref: "HEAD" };
  const ref = await git("rev-parse", "--verify", "--quiet", `${commit}^`).catch(() => "");
  const why =
    "this clone has neither a tag of an earlier release nor a commit with an older schema";
  return ref === "" ? { why } : { ref };
}

/** Writes the files of a commit to a folder and generates its code with the installed packages. */
async function checkOut(ref: string, folder: string): Promise<void> {
  const archive = join(folder, "source.tar");
  await run("git", ["-C", root, "archive", "--output", archive, ref]);
  await run("tar", ["-xf", archive, "-C", folder]);
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await run(process.execPath, ["tools/gen.ts"], { cwd: folder });
}

test("the previous version's API serves over this version's schema", async () => {
  const previous = await previousVersion();
  if ("why" in previous) {
    console.log(`Not compared with a previous version: ${previous.why}. PREVIOUS_REF names one.`);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), "billing-previous-"));
  const system = await startSystem({ without: ["api"] });
  try {
    await checkOut(previous.ref, folder);
    const organisation = await system.organisation({}, { usage_allowed: true });
    await addMeter(system.pool, organisation.organisationId, { code: "calls" });
    const script = join(folder, "src/server.ts");
    const api = await startApiProcess(system, {}, script);
    try {
      const what = subscriptionPost(organisation, "create");
      const created = await postUntilCreated(api.baseUrl, what);
      const { id, start_date: today } = created.json;
      await untilPosted(system, organisation.organisationId);
      const path = `/v1/subscriptions/${id}`;
      const events = [usageEvent(id, new Date().toISOString(), { meter_code: "calls" })];
      const usage = { path: "/v1/usage_events", key: organisation.apiKey, body: { events } };
      expect((await postUntil(api.baseUrl, usage, 200)).json.results).toMatchObject([
        { status: "created" },
      ]);
      await expectSumsOfEvents(system);
      const change = { units: 12, prorate: true, effective_date: today };
      const step = (verb: string, body: object) =>
        postUntil(
          api.baseUrl,
          { path: `${path}/${verb}`, key: organisation.apiKey, idempotencyKey: verb, body },
          200,
        );
      await step("units", change);
      await step("end", { when: "now", delete_unsent_invoices: true });
      await step("restore", {});
      await untilPosted(system, organisation.organisationId);
      const headers = { authorization: `Bearer ${organisation.apiKey}` };
      for (const list of ["subscriptions", "invoices", "customers", "plans"]) {
        const answer = await fetch(`${api.baseUrl}/v1/${list}`, { headers });
        expect(answer.status, `${list}: ${await answer.text()}`).toBe(200);
      }
    } finally {
      await api.stop();
    }
  } finally {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
