/** The closing lines of the checks count what ran, hide nothing, and say what failed. */
import { expect, test } from "vitest";
import { summariseTests } from "../../tools/test-summary.ts";

const passed = { status: "passed", fullName: "an end is kept" };
const failed = {
  status: "failed",
  fullName: "a renewal is billed once",
  failureMessages: ["Error: expected 1 to be 2\n    at bill.test.ts:7:3"],
};

function file(status: string, assertionResults: (typeof passed)[], message = "") {
  return { name: "test/bill.test.ts", status, message, assertionResults };
}

test("the summary counts passed and failed tests over all files", () => {
  const report = {
    testResults: [file("passed", [passed, passed]), file("failed", [passed, failed])],
  };
  expect(summariseTests(report)).toEqual({
    passed: 3,
    failures: [
      "test/bill.test.ts > a renewal is billed once: failed\n" +
        "Error: expected 1 to be 2\n    at bill.test.ts:7:3",
    ],
  });
});

test("the summary counts a broken file and every skipped test as a failure", () => {
  const broken = { testResults: [file("failed", [], "Cannot find module './bill.ts'")] };
  const skipped = {
    testResults: [file("passed", [passed, { ...passed, status: "pending" }])],
  };
  expect(summariseTests(broken)).toEqual({
    passed: 0,
    failures: ["test/bill.test.ts: failed\nCannot find module './bill.ts'"],
  });
  expect(summariseTests(skipped)).toEqual({
    passed: 1,
    failures: ["test/bill.test.ts > an end is kept: pending"],
  });
});

test("the summary prints at most 20 lines of a failure", () => {
  const endless = { ...failed, failureMessages: [Array(100).fill("at a line").join("\n")] };
  const [failure] = summariseTests({ testResults: [file("failed", [endless])] }).failures;
  expect(failure?.split("\n")).toHaveLength(20);
});
