/** `billing webhooks`: its requests, secrets that are shown once, and `test --wait`. */
import { expect } from "vitest";
import { WebhookDeliveryState } from "../../../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import { organisation, refuse, run, cliTest as test } from "../../calls-fixture.ts";

const id = "0199a0b2-7777-7000-8000-000000000001";
const deliveryId = "0199a0b2-8888-7000-8000-000000000001";

test.beforeEach(({ server }) => server.answer({}));

test("webhooks sends an endpoint's address, not the address of the admin API", async ({
  server,
}) => {
  await run("webhooks create https://hooks.example.com --kinds invoice.paid,invoice.voided", {
    env: server.env,
  });
  await run(`webhooks update ${id} --endpoint-url https://hooks.example.com/2 --all-kinds`, {
    env: server.env,
  });
  const files = { "change.json": '{"url":"https://hooks.example.com/3"}' };
  await run(`webhooks update ${id} --file change.json`, { env: server.env, files });
  await run(`webhooks update ${id} --description Shop`, { env: server.env });
  expect(server.received.map(({ request }) => request)).toEqual([
    { organisation, url: "https://hooks.example.com", kinds: ["invoice.paid", "invoice.voided"] },
    { organisation, id, url: "https://hooks.example.com/2", all_kinds: true },
    { organisation, id, url: "https://hooks.example.com/3" },
    { organisation, id, description: "Shop" },
  ]);
});

test("webhooks shows only a secret on the standard output", async ({ server }) => {
  const answer = () => ({
    endpoint: { id, url: "https://hooks.example.com" },
    secret: "whsec_value",
  });
  server.answer({ CreateWebhookEndpoint: answer, RotateWebhookSecret: answer });
  const created = await run("webhooks create https://hooks.example.com", { env: server.env });
  expect(created).toMatchObject({
    exitCode: 0,
    out: "whsec_value\n",
    err: expect.stringContaining(id),
  });
  const unconfirmed = await run(`webhooks rotate ${id}`, { env: server.env });
  expect(unconfirmed).toMatchObject({
    exitCode: 2,
    out: "",
    err: expect.stringContaining("24 more hours"),
  });
  expect(server.received).toHaveLength(1);
  expect((await run(`webhooks rotate ${id} --yes`, { env: server.env })).out).toBe("whsec_value\n");
  const both = await run(`webhooks rotate ${id} --drop-previous --drop-current`, {
    env: server.env,
  });
  expect(both.err).toMatch(
    /before the last rotation stops signing at once\. The current .* stops signing at once\./,
  );
  await run(`webhooks rotate ${id} --drop-previous --yes`, { env: server.env });
  expect(server.received.at(-1)?.request).toEqual({ organisation, id, drop_previous: true });
});

test("webhooks test --wait exits with 1 if the first attempt failed", async ({ server }) => {
  const delivery = (state: WebhookDeliveryState, attempts: number, more = {}) => ({
    delivery: { id: deliveryId, state, attempts, ...more },
  });
  const pending = () => delivery(WebhookDeliveryState.PENDING, 0);
  const refused = { lastStatus: 500, tries: [{ number: 1, status: 500, answer: "busy\u001b[2J" }] };
  for (const [answer, wanted, exitCode] of [
    [delivery(WebhookDeliveryState.DELIVERED, 1), 2, 0],
    [delivery(WebhookDeliveryState.PENDING, 1, refused), 1, 1],
    [delivery(WebhookDeliveryState.EXHAUSTED, 0), 1, 1],
  ] as const) {
    let reads = 0;
    server.answer({
      SendTestEvent: pending,
      GetWebhookDelivery: () => (++reads < wanted ? pending() : answer),
    });
    const ended = await run(`webhooks test ${id} --wait --json`, { env: server.env });
    expect([ended.exitCode, reads]).toEqual([exitCode, wanted]);
    expect(JSON.parse(ended.out)).toMatchObject({
      id: deliveryId,
      attempts: answer.delivery.attempts,
    });
    expect(server.received.map(({ request }) => request)).toContainEqual({
      organisation,
      id: deliveryId,
    });
  }
  server.answer({
    SendTestEvent: pending,
    GetWebhookDelivery: () => delivery(WebhookDeliveryState.PENDING, 1, refused),
  });
  const shown = await run(`webhooks test ${id} --wait`, { env: server.env });
  expect(shown.out).toMatch(/^last status +500$/m);
  expect(shown.out).toContain("answer busy\ufffd[2J");
  server.answer({ SendTestEvent: pending, GetWebhookDelivery: pending });
  expect((await run(`webhooks test ${id} --wait 0.01`, { env: server.env })).exitCode).toBe(1);
  expect((await run(`webhooks test ${id}`, { env: server.env })).exitCode).toBe(0);
  expect((await run(`webhooks test ${id} --wait soon`, { env: server.env })).exitCode).toBe(2);
});

test("webhooks lists the outcome of deliveries, and counts resent ones", async ({ server }) => {
  const row = {
    id: deliveryId,
    endpoint: id,
    eventType: "invoice.paid",
    attempts: 11,
    lastError: "no answer came",
  };
  server.answer({
    ListWebhookDeliveries: () => ({ data: [{ ...row, state: WebhookDeliveryState.EXHAUSTED }] }),
    ResendWebhookDeliveries: () => ({ resent: 2, added: 1 }),
  });
  const listed = await run("webhooks deliveries --state exhausted --since 2026-11-20T00:00:00Z", {
    env: server.env,
  });
  expect(listed.out).toMatch(
    new RegExp(`^${deliveryId} .*invoice\\.paid +${id} +exhausted +11 .*no answer came`, "m"),
  );
  const filters = { since: "2026-11-20T00:00:00Z", state: "WEBHOOK_DELIVERY_STATE_EXHAUSTED" };
  expect(server.received[0]?.request).toEqual({ organisation, ...filters });
  const resent = await run(
    `webhooks resend-all ${id} --since 2026-11-20T00:00:00Z --include-delivered --json`,
    {
      env: server.env,
    },
  );
  expect(JSON.parse(resent.out)).toEqual({ resent: 2, added: 1 });
  const request = { organisation, id, since: "2026-11-20T00:00:00Z", include_delivered: true };
  expect(server.received.at(-1)?.request).toEqual(request);
});

test("webhooks resend-all continues until no event is left", async ({ server }) => {
  const last = "0199a0b2-9999-7000-8000-000000000001";
  let calls = 0;
  let broken = false;
  const ResendWebhookDeliveries = () => {
    calls += 1;
    if (calls === 1) return { resent: 20_000, lastEvent: last };
    return broken ? refuse("invalid_state", "It is disabled.") : { added: 3 };
  };
  server.answer({ ResendWebhookDeliveries });
  const words = `webhooks resend-all ${id} --since 2026-11-20T00:00:00Z --json`;
  const ended = await run(words, { env: server.env });
  expect([JSON.parse(ended.out), ended.err]).toEqual([
    { resent: 20_000, added: 3 },
    "20000 so far …\n",
  ]);
  const first = { organisation, id, since: "2026-11-20T00:00:00Z" };
  expect(server.received.map(({ request }) => request)).toEqual([
    first,
    { ...first, after_event: last },
  ]);
  [calls, broken] = [0, true];
  const stopped = await run(words, { env: server.env });
  expect(stopped).toMatchObject({ exitCode: 1, out: "" });
  expect(stopped.err).toContain(`Continue with --after-event ${last}\n`);
  [calls, broken] = [1, false];
  expect((await run(`${words} --after-event ${last}`, { env: server.env })).exitCode).toBe(0);
  expect(server.received.at(-1)?.request).toEqual({ ...first, after_event: last });
});
