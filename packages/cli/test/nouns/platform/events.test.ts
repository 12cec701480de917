/** New events, on the screen and at a local address. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { verifyWebhook } from "../../../../client/src/webhook.ts";
import { run, cliTest as test } from "../../calls-fixture.ts";

const event = (number: number) => ({
  id: `0199a0b2-9999-7000-8000-00000000000${number}`,
  type: "invoice.paid",
  objectId: "0199a0b2-4444-7000-8000-000000000001",
  created: `2026-03-16T09:30:0${number}.000Z`,
});

/** Answers lists with the events so far, and stops the command once `count` of them were read. */
function publishing(events: ReturnType<typeof event>[], reads: number) {
  const stop = new AbortController();
  let read = 0;
  return {
    stopped: stop.signal,
    answers: {
      ListEvents: () => {
        read += 1;
        if (read >= reads) stop.abort();
        return { data: events.toReversed() };
      },
      GetEvent: (request: object) => ({
        body: JSON.stringify({ id: (request as { id: string }).id }),
      }),
    },
  };
}

test("events since a time are shown, oldest first and once", async ({ server }) => {
  const { stopped, answers } = publishing([event(1), event(2)], 2);
  server.answer(answers);
  const words = "events tail --since 2026-03-16T00:00:00Z";
  const { out, exitCode } = await run(words, { env: server.env, stopped });
  expect(exitCode).toBe(0);
  expect(out.split("\n").map((line) => line.split("  ").at(-1))).toEqual([
    event(1).id,
    event(2).id,
    "",
  ]);
});

test("without a time only events that come later are shown", async ({ server }) => {
  const { stopped, answers } = publishing([event(1)], 2);
  const later = { ...answers };
  let reads = 0;
  server.answer({
    ...later,
    ListEvents: () => {
      reads += 1;
      const { data } = answers.ListEvents();
      return { data: reads === 1 ? data : [event(2), ...data] };
    },
  });
  const { out } = await run("events tail -o json", { env: server.env, stopped });
  const lines = out.trim().split("\n");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    id: event(2).id,
    type: "invoice.paid",
    body: `{"id":"${event(2).id}"}`,
  });
});

test("listen sends each event to a local address, signed as a webhook is", async ({ server }) => {
  const received: { body: string; signature: string }[] = [];
  const receiver = createServer(async (request, response) => {
    const signature = String(request.headers["billing-signature"]);
    received.push({ body: await text(request), signature });
    response.writeHead(204).end();
  });
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
  const { port } = receiver.address() as AddressInfo;
  const { stopped, answers } = publishing([event(1)], 1);
  server.answer(answers);
  const words = `listen --since 1h --forward-to http://127.0.0.1:${port}/hooks`;
  const { out, err } = await run(words, { env: server.env, stopped });
  receiver.close();
  const [secret = ""] = /whsec_\S+/.exec(err) ?? [];
  expect(out).toMatch(/ 204\n$/);
  expect(received).toHaveLength(1);
  const { body = "", signature: header } = received[0] ?? {};
  expect(await verifyWebhook({ header, body, secret })).toMatchObject({ ok: true });
  expect(body).toBe(`{"id":"${event(1).id}"}`);
});

test("listen says that a receiver is not there, and goes on", async ({ server }) => {
  const { stopped, answers } = publishing([event(1), event(2)], 1);
  server.answer(answers);
  const gone = createServer();
  await new Promise<void>((done) => gone.listen(0, "127.0.0.1", done));
  const { port } = gone.address() as AddressInfo;
  await new Promise((done) => gone.close(done));
  const { out, exitCode } = await run(`listen --since 1h --forward-to http://127.0.0.1:${port}/`, {
    env: server.env,
    stopped,
  });
  expect(exitCode).toBe(0);
  expect(out.match(/not received: ECONNREFUSED/g)).toHaveLength(2);
});
