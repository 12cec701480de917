/** What is told of errors: every code of the table, and nothing of what is none. Spec: Errors. */
import { describe, expect, test } from "vitest";
import { Refusal, type RefusalCode, refusals } from "../../../src/domain/refusal.ts";
import { ErrorDetailSchema } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import {
  connectErrorOf,
  createReportError,
  temporarilyUnavailable,
} from "../../../src/transport/rpc/refusals.ts";

const logged: unknown[] = [];
const tell = createReportError((error) => logged.push(error));

describe("what is told", () => {
  test.each(
    Object.keys(refusals) as RefusalCode[],
  )("%s has the status and type of its row, and the same in its detail", (code) => {
    const told = tell(new Refusal(code, "the message", "units", 7), "request-1");
    const { status, type } = refusals[code];
    expect(told).toEqual({
      status,
      type,
      code,
      message: "the message",
      param: "units",
      requestId: "request-1",
      retryAfterSeconds: 7,
    });
    const [detail] = connectErrorOf(told).findDetails(ErrorDetailSchema);
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
      tell(new Refusal("setup_mode_on", "No"), "request-1"),
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
    const told = tell(error, "request-1");
    expect(told).toMatchObject({ status: 500, code: "internal_error" });
    expect(JSON.stringify(told)).not.toContain("secret");
    expect(logged).toEqual([error]);
  });

  test("of a system that could not be reached is temporarily_unavailable, with its cause in the log alone", () => {
    logged.length = 0;
    const cause = new Error("connect ECONNREFUSED 10.0.0.7:5432");
    const told = tell(temporarilyUnavailable(cause), "request-1");
    expect(told).toMatchObject({
      status: 502,
      code: "temporarily_unavailable",
      retryAfterSeconds: 1,
    });
    expect(told.message).not.toContain("10.0.0.7");
    expect(logged).toEqual([cause]);
  });
});
