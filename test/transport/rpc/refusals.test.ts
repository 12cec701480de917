/** Error reports: every code of the table, and no detail of an unexpected error (REQUEST-15). */
import { describe, expect, test } from "vitest";
import { Refusal, type RefusalCode, refusals } from "../../../src/domain/refusal.ts";
import { ErrorDetailSchema } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import {
  connectErrorOf,
  createReportError,
  temporarilyUnavailable,
} from "../../../src/transport/rpc/refusals.ts";

const logged: unknown[] = [];
const reportError = createReportError((error) => logged.push(error));

describe("an error report", () => {
  test.each(
    Object.keys(refusals) as RefusalCode[],
  )("%s has the status and type of its row, and the same in its detail", (code) => {
    const report = reportError(new Refusal(code, "the message", "units", 7), "request-1");
    const { status, type } = refusals[code];
    expect(report).toEqual({
      status,
      type,
      code,
      message: "the message",
      param: "units",
      requestId: "request-1",
      retryAfterSeconds: 7,
    });
    const [detail] = connectErrorOf(report).findDetails(ErrorDetailSchema);
    expect(detail).toMatchObject({
      type,
      code,
      message: "the message",
      param: "units",
      requestId: "request-1",
    });
  });

  test("has no param where the whole request is at fault", () => {
    const [detail] = connectErrorOf(
      reportError(new Refusal("setup_mode_on", "No"), "request-1"),
    ).findDetails(ErrorDetailSchema);
    expect(detail?.param).toBeUndefined();
  });

  test.each([
    new Error("secret"),
    "secret",
    null,
    undefined,
    { secret: true },
  ])("of %j is nothing but internal_error, and it is logged", (error) => {
    logged.length = 0;
    const report = reportError(error, "request-1");
    expect(report).toMatchObject({ status: 500, code: "internal_error" });
    expect(JSON.stringify(report)).not.toContain("secret");
    expect(logged).toEqual([error]);
  });

  test("of an unreachable system is temporarily_unavailable, with its cause logged", () => {
    logged.length = 0;
    const cause = new Error("connect ECONNREFUSED 10.0.0.7:5432");
    const report = reportError(temporarilyUnavailable(cause), "request-1");
    expect(report).toMatchObject({
      status: 502,
      code: "temporarily_unavailable",
      retryAfterSeconds: 1,
    });
    expect(report.message).not.toContain("10.0.0.7");
    expect(logged).toEqual([cause]);
  });
});
