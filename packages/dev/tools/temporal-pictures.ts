/**
 * Takes the pictures of docs/workflows.md from the Temporal UI of a service that has changed the
 * units of a subscription with a label: `node packages/dev/tools/temporal-pictures.ts`, with
 * TEMPORAL_ADDRESS and TEMPORAL_UI_URL if they are not those of `npm start`.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { createWorkflowPages } from "../../../src/main/api/workflow-pages.ts";
import { startChromium } from "../../../test/support/chromium.ts";
import { invoiceAmendmentType } from "../../../workflows/contract.ts";

const { TEMPORAL_ADDRESS: address = "127.0.0.1:7233" } = process.env;
const { TEMPORAL_UI_URL: uiUrl = "http://127.0.0.1:8233" } = process.env;
const namespace = "default";
const folder = join(import.meta.dirname, "../../../docs/images/temporal");

/** A documentation page loads each at once. */
const mostBytes = 150_000;

async function newestRun(type: string): Promise<string> {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const query = `WorkflowType = "${type}" AND ExecutionStatus = "Completed"`;
  try {
    for await (const { workflowId, runId } of client.workflow.list({ query })) {
      const id = encodeURIComponent(workflowId);
      return `${uiUrl}/namespaces/${namespace}/workflows/${id}/${runId}`;
    }
    throw new Error(`no run of ${type} has ended`);
  } finally {
    await connection.close();
  }
}

const amendment = await newestRun(invoiceAmendmentType);
const work = createWorkflowPages(uiUrl, namespace)?.work() ?? "";
mkdirSync(folder, { recursive: true });
const chromium = await startChromium();
try {
  const viewport = { width: 1280, height: 680 };
  const settings = { viewport, reducedMotion: "reduce", locale: "en-GB" } as const;
  const page = await chromium.browser.newPage(settings);
  const take = async (name: string, url: string, shown: string) => {
    await page.goto(url);
    await page.getByText(shown).first().waitFor();
    await page.waitForLoadState("networkidle");
    const path = join(folder, `${name}.png`);
    await page.screenshot({ path });
    const { size } = statSync(path);
    if (size > mostBytes) throw new Error(`${name}.png has ${size} bytes`);
    console.log(`${name}.png ${Math.round(size / 1_000)} kB`);
  };
  await take("work", work, "ledger/");
  await take("result", `${amendment}/history`, "words");
  await take("summary", `${amendment}/user-metadata`, "Press the");
} finally {
  await chromium.stop();
}
