/** What is wrong with a page to look at: what axe finds, and a page wider than the screen. */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const wide = { width: 1440, height: 900 };
const narrow = { width: 390, height: 844 };

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate<axe.AxeResults>("axe.run()");
  expect(passes.length).toBeGreaterThan(0);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

const widerThanScreen =
  "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/** Looks at the page, wide and light, then narrow and dark. Returns what is wrong. */
export async function look(page: Page, path: string): Promise<string[]> {
  const faults: string[] = [];
  for (const [viewport, colorScheme] of [
    [wide, "light"],
    [narrow, "dark"],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const where = `${path} ${viewport.width} ${colorScheme}`;
    faults.push(...(await faultsOf(page)).map((fault) => `${where} ${fault}`));
    if ((await page.evaluate<number>(widerThanScreen)) > 0) faults.push(`${where} is too wide`);
  }
  return faults;
}
