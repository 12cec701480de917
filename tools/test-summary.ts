/**
 * Prints one line, `123 passed, 0 failed`, from JSON reports of vitest, and fails unless all tests
 * passed.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** The members that are read of vitest's JSON report. */
interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** How many tests passed and failed. */
interface TestCount {
  readonly passed: number;
  readonly failed: number;
}

/**
 * Counts the tests of a report. A file that failed before its tests could run is one failure. A
 * skipped test is a failure too: a skipped guarantee is no guarantee.
 */
export function countTests({ testResults }: TestReport): TestCount {
  const statuses = testResults.flatMap(({ status, assertionResults }) => {
    const own = assertionResults.map((test) => test.status);
    return status === "failed" && !own.includes("failed") ? [...own, "failed"] : own;
  });
  const passed = statuses.filter((status) => status === "passed").length;
  return { passed, failed: statuses.length - passed };
}

function main(paths: readonly string[]): void {
  const reports = paths.map((path) => JSON.parse(readFileSync(path, "utf8")) as TestReport);
  const testResults = reports.flatMap((report) => report.testResults);
  const { passed, failed } = countTests({ testResults });
  console.log(`${passed} passed, ${failed} failed`);
  // A run without tests counts as failed.
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

const [, program = "", ...paths] = process.argv;
if (import.meta.url === pathToFileURL(program).href) main(paths);
