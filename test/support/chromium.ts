/**
 * A headless Chromium for the tests of pages: the one inside a package, with the libraries and
 * fonts that it needs, or the one that CHROMIUM_PATH names. It needs no network. If it cannot
 * start, the error says why and what can be done.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { allow } from "./slowness.ts";

/** A running browser; `stop` ends it and removes its files. */
export interface RunningChromium {
  readonly browser: Browser;
  stop(): Promise<void>;
}

// Unpacking takes seconds, starting less than one; the rest is for a machine under load.
const startLimitMs = allow(18_000);

/**
 * Starts one in a temporary folder. Throws if this machine cannot run it; a test is never skipped
 * for that.
 */
export async function startChromium(): Promise<RunningChromium> {
  const folder = await mkdtemp(join(tmpdir(), "chromium-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const own = process.env.CHROMIUM_PATH;
    const { executablePath, env } = own
      ? { executablePath: own, env: process.env }
      : await unpack(folder);
    // Without its sandbox, which root and containers cannot have: it sees nothing but our own page.
    const browser = await chromium.launch({
      executablePath,
      env,
      chromiumSandbox: false,
      timeout: startLimitMs,
    });
    return {
      browser,
      stop: async () => {
        await browser.close();
        await remove();
      },
    };
  } catch (cause) {
    await remove();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const advice =
      "The packaged one is for Linux on x64; " +
      "set CHROMIUM_PATH to a Chromium or Chrome of this machine.";
    throw new Error(
      `Headless Chromium cannot start on ${process.platform} ${process.arch}. ${advice}\n${reason}`,
      {
        cause,
      },
    );
  }
}

// The package unpacks into the temporary folder, and its libraries only if it believes that it runs
// in Amazon's Linux. So the variable is set for this moment, and what the package sets for the
// whole process is passed to the browser alone.
async function unpack(folder: string): Promise<{ executablePath: string; env: NodeJS.ProcessEnv }> {
  const before = { ...process.env };
  Object.assign(process.env, { TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: "nodejs22.x" });
  try {
    const { default: packaged } = await import("@sparticuz/chromium");
    packaged.setGraphicsMode = false;
    const executablePath = await packaged.executablePath();
    // Its own list of fonts reads /tmp only, and without any font Chromium dies of the first text.
    const fonts = join(folder, "fonts");
    await writeFile(
      join(fonts, "fonts.conf"),
      `<fontconfig><dir>${fonts}</dir><cachedir>${fonts}</cachedir></fontconfig>`,
    );
    return { executablePath, env: { ...process.env } };
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
