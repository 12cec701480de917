/** The closing line of the checks counts what ran and hides nothing that did not. */
import { expect, test } from "vitest";
import { countTests } from "../../tools/test-summary.ts";

const passed = { status: "passed" };

test("the summary counts passed and failed tests over all files", () => {
  const report = {
    testResults: [
      { status: "passed", assertionResults: [passed, passed] },
      { status: "failed", assertionResults: [passed, { status: "failed" }] },
    ],
  };
  expect(countTests(report)).toEqual({ passed: 3, failed: 1 });
});

test("the summary counts a broken file and every skipped test as a failure", () => {
  const broken = { testResults: [{ status: "failed", assertionResults: [] }] };
  const skipped = {
    testResults: [{ status: "passed", assertionResults: [passed, { status: "pending" }] }],
  };
  expect(countTests(broken)).toEqual({ passed: 0, failed: 1 });
  expect(countTests(skipped)).toEqual({ passed: 1, failed: 1 });
});
