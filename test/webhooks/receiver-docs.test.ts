/** The receiver of docs/webhooks.md, run as it stands there. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPoster, type Poster } from "../../src/webhooks/post.ts";
import { newSecret, signatureHeader, signatureHeaderName } from "../../src/webhooks/sign.ts";

const root = join(import.meta.dirname, "../..");
const secret = newSecret();
const poster: Poster = createPoster({ mode: "development" });
let receiver: ChildProcessWithoutNullStreams;
let lines: AsyncIterator<string>;
let port: string;

/** The next line that it prints. */
const printed = async () => (await lines.next()).value as string;

beforeAll(async () => {
  const page = readFileSync(join(root, "docs/webhooks.md"), "utf8");
  const code = /\n## Receive webhooks\n.*?\n```js\n(.*?)\n```\n/s.exec(page)?.[1] ?? "";
  // The reader saves it in the root of the repository: its imports are relative to that.
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: "0" };
  receiver = spawn(process.execPath, ["--input-type=module"], { cwd: root, env });
  receiver.stderr.pipe(process.stderr);
  receiver.stdin.end(code);
  lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
  port = /^listening on (\d+)$/.exec(await printed())?.[1] ?? "";
});
afterAll(async () => {
  receiver.kill();
  await poster.close();
});

const seconds = () => Math.floor(Date.now() / 1000);
const event = (id: string) =>
  JSON.stringify({
    id,
    object: "event",
    type: "invoice.paid",
    data: { object: { id: "1", note: "café" } },
  });

const send = (body: string, header: string) =>
  poster.post({
    url: `http://127.0.0.1:${port}/`,
    body,
    headers: { [signatureHeaderName]: header },
  });

test("the documented receiver takes signed events once, and no forged or old ones", async () => {
  expect(await send(event("a"), signatureHeader([secret], event("a"), seconds()))).toMatchObject({
    status: 204,
  });
  expect(await printed()).toBe("invoice.paid a");
  expect(
    await send(event("a"), signatureHeader([newSecret(), secret], event("a"), seconds())),
  ).toMatchObject({
    status: 204,
  });
  expect(await printed()).toBe("again a");
  for (const [body, header, reason] of [
    [event("b"), signatureHeader([newSecret()], event("b"), seconds()), "signature_wrong"],
    [event("b"), signatureHeader([secret], event("a"), seconds()), "signature_wrong"],
    [event("b"), signatureHeader([secret], event("b"), seconds() - 400), "too_old"],
    [event("b"), "", "header_invalid"],
  ] as const) {
    expect(await send(body, header)).toMatchObject({ status: 400, answer: "" });
    expect(await printed()).toBe(`refused: ${reason}`);
  }
});

test("the documented receiver continues after a request that breaks off", async () => {
  const socket = connect(Number(port), "127.0.0.1");
  await new Promise<void>((resolve) => {
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc", () =>
      socket.destroy(),
    );
    socket.once("close", () => resolve());
  });
  expect(await send(event("c"), signatureHeader([secret], event("c"), seconds()))).toMatchObject({
    status: 204,
  });
  expect(await printed()).toBe("invoice.paid c");
});
