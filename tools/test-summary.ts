/**
 * Prints what failed and one line, `123 passed, 0 failed`, from JSON reports of vitest, and fails
 * unless all tests passed.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";

/** The members that are read of vitest's JSON report. */
interface TestReport {
  readonly testResults: readonly {
    /** The test file's path. */
    readonly name: string;
    readonly status: string;
    /** Why the file failed before its tests could run. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** The results of a report's tests: how many passed, and what to print of each other one. */
interface TestSummary {
  readonly passed: number;
  readonly failures: readonly string[];
}

/** Lines that are printed of a failure: its error, and where it was thrown. */
const maxLines = 20;

/**
 * The results of a report. A file that failed before its tests could run is one failure. A skipped
 * test is a failure too: a skipped guarantee is no guarantee.
 */
export function summariseTests({ testResults }: TestReport): TestSummary {
  const tests = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const path = relative(".", name);
    const own = assertionResults.map((test) => ({
      status: test.status,
      text: [`${path} > ${test.fullName}: ${test.status}`, ...(test.failureMessages ?? [])],
    }));
    const broken = status === "failed" && !own.some((test) => test.status === "failed");
    return broken ? [...own, { status, text: [`${path}: ${status}`, message] }] : own;
  });
  const failures = tests
    .filter((test) => test.status !== "passed")
    .map(({ text }) => text.join("\n").split("\n").slice(0, maxLines).join("\n").trim());
  return { passed: tests.length - failures.length, failures };
}

function main(paths: readonly string[]): void {
  const reports = paths.map((path) => JSON.parse(readFileSync(path, "utf8")) as TestReport);
  const { passed, failures } = summariseTests({
    testResults: reports.flatMap((report) => report.testResults),
  });
  for (const failure of failures) console.log(`${failure}\n`);
  console.log(`${passed} passed, ${failures.length} failed`);
  // A run without tests counts as failed.
  if (failures.length > 0 || passed === 0) process.exitCode = 1;
}

const [, program = "", ...paths] = process.argv;
if (import.meta.url === pathToFileURL(program).href) main(paths);
