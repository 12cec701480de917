/** Error reports: every code of the table, and no detail of an unexpected error (REQUEST-15). */
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { describe, expect, test } from "vitest";
import { Refusal, type RefusalCode, refusals } from "../../../src/domain/refusal.ts";
import { ErrorDetailSchema } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../src/gen/proto/google/rpc/error_details_pb.ts";
import { InvalidRequest } from "../../../src/transport/rpc/invalid-request.ts";
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
    const { faults, ...members } = report;
    expect(members).toEqual({
      status,
      type,
      code,
      message: "the message",
      param: "units",
      requestId: "request-1",
      retryAfterSeconds: 7,
    });
    expect(faults()).toEqual([{ field: "units", description: "the message" }]);
    const [detail] = connectErrorOf(report).findDetails(ErrorDetailSchema);
    expect(detail).toMatchObject({
      type,
      code,
      message: "the message",
      param: "units",
      requestId: "request-1",
    });
  });

  test("has the details of google.rpc: reason, field and delay", () => {
    const refusal = new Refusal("rate_limited", "Too many", "units", 42);
    const error = connectErrorOf(reportError(refusal, "request-1"));
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
      {
        reason: "RATE_LIMITED",
        domain: "billing.v1",
        metadata: { request_id: "request-1", param: "units" },
      },
    ]);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([
      {
        fieldViolations: [{ field: "units", description: "Too many", reason: "RATE_LIMITED" }],
      },
    ]);
    expect(error.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 42n } }]);
  });

  test("has neither field nor delay if the refusal has none", () => {
    const error = connectErrorOf(reportError(new Refusal("setup_mode_on", "No"), "request-1"));
    expect(error.details).toHaveLength(2);
    const [info] = error.findDetails(ErrorInfoSchema);
    expect(info?.metadata).toEqual({ request_id: "request-1" });
  });

  test("has as many faults as fit into the header field of a gRPC client", () => {
    const description = "must be a whole number — é".repeat(4);
    const all = Array.from({ length: 100 }, (_, index) => ({
      field: `events.${index}.quantity`,
      description,
    }));
    const refusal = new InvalidRequest("No", "events.0.quantity", () => all);
    const error = connectErrorOf(reportError(refusal, "request-1"));
    const [shown] = error.findDetails(BadRequestSchema);
    const count = shown?.fieldViolations.length ?? 0;
    expect(count).toBeGreaterThan(10);
    expect(shown?.fieldViolations.map(({ field }) => field)).toEqual(
      all.slice(0, count).map(({ field }) => field),
    );
    const status = setTrailerStatus(new Headers(), error).get("grpc-status-details-bin") ?? "";
    expect(status.length).toBeGreaterThan(4_000);
    expect(status.length).toBeLessThan(8_192);
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
