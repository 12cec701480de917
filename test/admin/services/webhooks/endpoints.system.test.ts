/** Webhook endpoints over the wire: methods, refusals, secrets and their rotation. WEBHOOK-2 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { eventTypes } from "../../../../src/domain/events/event.ts";
import { deliveriesOf, fromNow, tables } from "../../../support/rows.ts";
import { failing } from "../../../support/webhook-builder.ts";
import { codeOf } from "../request.ts";
import { call, day, webhooksTest as test, url } from "./webhooks-fixture.ts";

const conflict = "idempotency_conflict Idempotency-Key";

describe("endpoints", () => {
  test("are created, listed and updated, and show their secret once", async ({
    system,
    admin,
    own,
    other,
    secrets,
    endpoint,
    signingSecrets,
  }) => {
    const create = {
      ...own,
      url,
      description: "Shop",
      kinds: ["invoice.paid", "subscription.created"],
    };
    const asked = { idempotencyKey: "endpoint-1" };
    const { endpoint: made, secret } = await admin.done(
      call("CreateWebhookEndpoint"),
      create,
      asked,
    );
    secrets.add(secret);
    const [{ id }, created] = [made, expect.any(String)];
    expect(made).toEqual({ id, ...create, status: "WEBHOOK_ENDPOINT_STATUS_ENABLED", created });
    expect(secret).toMatch(/^whsec_[0-9A-Za-z_-]{43}$/);
    expect(await signingSecrets(id)).toEqual([secret]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "webhook_endpoint",
      target: id,
      operation: "billing.admin.v1.WebhookService/CreateWebhookEndpoint",
      after: { url, kinds: create.kinds, status: "enabled" },
    });
    // A repeat has no secret, also after the key's 24 hours, and makes nothing.
    expect(await admin.done(call("CreateWebhookEndpoint"), create, asked)).toEqual({
      endpoint: made,
    });
    await tables(system.pool).idempotencyKey.deleteMany();
    expect(await admin.done(call("CreateWebhookEndpoint"), create, asked)).toEqual({
      endpoint: made,
    });
    await tables(system.pool).idempotencyKey.deleteMany();
    expect(await admin.refused(call("CreateWebhookEndpoint"), { ...create, ...other }, asked)).toBe(
      conflict,
    );

    const at = { ...own, id };
    expect(await admin.done(call("GetWebhookEndpoint"), { ...own, id: id.toUpperCase() })).toEqual({
      endpoint: made,
    });
    const { id: last } = await admin.lastEntry();
    await admin.done(call("UpdateWebhookEndpoint"), { ...at, url, description: "Shop" });
    expect((await admin.lastEntry()).id).toBe(last);
    await failing(system.pool, id);
    const change = { ...at, description: "", kinds: ["invoice.paid"] };
    const changed = (await admin.done(call("UpdateWebhookEndpoint"), change)).endpoint;
    expect(changed).toMatchObject({
      url,
      kinds: ["invoice.paid"],
      failures: 6,
      pausedUntil: created,
    });
    expect(changed.description).toBeUndefined();
    // Failures of the old address say nothing of the new one.
    const moved = { ...at, url: `${url}/v2`, allKinds: true };
    const { endpoint: after } = await admin.done(call("UpdateWebhookEndpoint"), moved);
    const { description: _, kinds: __, ...rest } = made;
    expect(after).toEqual({ ...rest, url: `${url}/v2` });
    expect(await admin.lastEntry()).toMatchObject({
      before: { url, failures: 6 },
      after: { url: `${url}/v2` },
    });

    const second = (await endpoint()).endpoint;
    const page = await admin.done(call("ListWebhookEndpoints"), { ...own, limit: 1 });
    expect(page).toEqual({ data: [second], hasMore: true });
    const older = await admin.done(call("ListWebhookEndpoints"), {
      ...own,
      startingAfter: second.id,
    });
    expect(older.data).toEqual([after]);
  });

  test("are refused with the parameter at fault, and unknown to another organisation", async ({
    system,
    admin,
    own,
    other,
    endpoint,
  }) => {
    const theirs = (await endpoint({}, other)).endpoint;
    const create = (change: object) =>
      admin.refused(call("CreateWebhookEndpoint"), { ...own, url, ...change });
    for (const bad of [
      "http://hooks.example.com",
      "https://10.0.0.1/",
      "https://localhost/",
      "nowhere",
      "",
    ]) {
      expect([bad, await create({ url: bad })]).toEqual([bad, "invalid_parameter url"]);
    }
    expect(await create({ url: `${url}/${"x".repeat(2048)}` })).toBe("invalid_parameter url");
    expect(await create({ description: "x".repeat(256) })).toBe("invalid_parameter description");
    expect(await create({ kinds: ["invoice.paid", "invoice.sent"] })).toBe(
      "invalid_parameter kinds.1",
    );
    expect(await create({ kinds: ["webhook_endpoint.test"] })).toBe("invalid_parameter kinds.0");
    expect(await create({ kinds: ["invoice.paid", "invoice.paid"] })).toMatch(
      /^invalid_parameter kinds/,
    );
    expect(await create({ organisation: randomUUID() })).toBe("organisation_not_found");

    const { id } = theirs;
    const update = (change: object) =>
      admin.refused(call("UpdateWebhookEndpoint"), { ...other, id, ...change });
    expect(await update({ url: "https://[::1]/" })).toBe("invalid_parameter url");
    expect(await update({ kinds: ["x"] })).toBe("invalid_parameter kinds.0");
    expect(await update({ kinds: ["invoice.paid"], allKinds: true })).toBe(
      "invalid_parameter all_kinds",
    );
    expect(await admin.refused(call("DisableWebhookEndpoint"), { ...other, id })).toBe(
      "invalid_parameter reason",
    );
    const whole = (await endpoint({ kinds: [...eventTypes] }, other)).endpoint;
    expect(whole.kinds).toEqual(eventTypes);

    const since = new Date().toISOString();
    const bodies = { DisableWebhookEndpoint: { reason: "No" }, ResendWebhookDeliveries: { since } };
    const one = ["Get", "Update", "Enable", "Disable"].map((verb) => `${verb}WebhookEndpoint`);
    for (const name of [
      ...one,
      "RotateWebhookSecret",
      "SendTestEvent",
      "ResendWebhookDeliveries",
    ]) {
      for (const unknown of [theirs.id, randomUUID(), "hooks"]) {
        const body = { ...own, id: unknown, ...(bodies as Record<string, object>)[name] };
        expect([name, await admin.refused(call(name), body)]).toEqual([
          name,
          "webhook_endpoint_not_found",
        ]);
      }
    }
    const after = { ...own, startingAfter: theirs.id };
    expect(await admin.refused(call("ListWebhookEndpoints"), after)).toBe(
      "invalid_parameter starting_after",
    );
    expect(await deliveriesOf(system.pool, { endpointId: theirs.id })).toEqual([]);
    const readOnly = await system.operator("read-only");
    const asReader = { key: readOnly, body: { ...own, url } };
    expect(codeOf(await system.askAdmin(call("CreateWebhookEndpoint"), asReader))).toBe(
      "insufficient_role",
    );
    expect(
      (await system.askAdmin(call("ListWebhookEndpoints"), { key: readOnly, body: own })).status,
    ).toBe(200);
  });

  test("sign with two secrets for 24 hours after a rotation, and never with three", async ({
    system,
    admin,
    own,
    secrets,
    endpoint,
    signingSecrets,
  }) => {
    const { endpoint: made, secret: first } = await endpoint();
    const at = { ...own, id: made.id };
    const rotate = async (drops: object = {}) => {
      const rotated = await admin.done(call("RotateWebhookSecret"), {
        ...own,
        id: made.id.toUpperCase(),
        ...drops,
      });
      secrets.add(rotated.secret);
      return rotated;
    };
    const before = Date.now();
    const second = await rotate();
    expect(await signingSecrets(made.id)).toEqual([second.secret, first]);
    const { previousSecretUntil, ...rest } = second.endpoint;
    expect(rest).toEqual(made);
    expect(Date.parse(previousSecretUntil) - before).toBeGreaterThanOrEqual(day);
    expect(Date.parse(previousSecretUntil) - Date.now()).toBeLessThanOrEqual(day);
    expect(await admin.lastEntry()).toMatchObject({
      before: { previous_secret_until: null },
      after: { previous_secret_until: previousSecretUntil },
    });
    // A repeat after a lost answer does not end the secret that receivers have.
    const again = await admin.ask(call("RotateWebhookSecret"), at);
    expect([codeOf(again), again.json.message]).toEqual([
      "invalid_state",
      expect.stringContaining(previousSecretUntil),
    ]);
    expect(await signingSecrets(made.id)).toEqual([second.secret, first]);
    await tables(system.pool).webhookEndpoint.updateMany({
      where: { id: made.id },
      data: { previousUntil: fromNow(60) },
    });
    const third = await rotate({ dropCurrent: true });
    expect(await signingSecrets(made.id)).toEqual([third.secret, first]);
    expect(Date.parse(third.endpoint.previousSecretUntil) - before).toBeGreaterThanOrEqual(day);
    const fourth = await rotate({ dropPrevious: true });
    expect(await signingSecrets(made.id)).toEqual([fourth.secret, third.secret]);
    expect(await admin.lastEntry()).toMatchObject({
      after: { drop_previous: true, drop_current: false },
    });
    const fifth = await rotate({ dropPrevious: true, dropCurrent: true });
    expect([await signingSecrets(made.id), fifth.endpoint]).toEqual([[fifth.secret], made]);
    const both = await Promise.all([1, 2].map(() => admin.ask(call("RotateWebhookSecret"), at)));
    const [sixth] = both.filter(({ status }) => status === 200);
    secrets.add(sixth?.json.secret);
    expect(both.filter(({ status }) => status !== 200).map(codeOf)).toEqual(["invalid_state"]);
    expect(await signingSecrets(made.id)).toEqual([sixth?.json.secret, fifth.secret]);
    await tables(system.pool).webhookEndpoint.updateMany({
      where: { id: made.id },
      data: { previousUntil: new Date() },
    });
    expect((await admin.done(call("GetWebhookEndpoint"), at)).endpoint).toEqual(made);
    const seventh = await rotate({ dropCurrent: true });
    expect([await signingSecrets(made.id), seventh.endpoint]).toEqual([[seventh.secret], made]);
  });

  test("are disabled with a reason and enabled without failures, up to 20 at once", async ({
    system,
    admin,
    own,
    secrets,
    endpoint,
  }) => {
    const { endpoint: made } = await endpoint();
    const at = { ...own, id: made.id };
    await failing(system.pool, made.id);
    const enabled = (await admin.done(call("EnableWebhookEndpoint"), at)).endpoint;
    expect(enabled).toEqual(made);
    expect(await admin.lastEntry()).toMatchObject({
      before: { failures: 6 },
      after: { failures: 0 },
    });
    const disable = (reason: string) =>
      admin.done(call("DisableWebhookEndpoint"), { ...at, reason });
    await failing(system.pool, made.id);
    const off = (await disable("Moves")).endpoint;
    expect(off).toMatchObject({
      status: "WEBHOOK_ENDPOINT_STATUS_DISABLED",
      disabledReason: "Moves",
    });
    expect(off.disabledAt).toEqual(expect.any(String));
    const { id: last } = await admin.lastEntry();
    expect((await disable("Moves again")).endpoint).toEqual(off);
    expect((await admin.lastEntry()).id).toBe(last);
    const disabled = { ...own, status: "WEBHOOK_ENDPOINT_STATUS_DISABLED" };
    expect((await admin.done(call("ListWebhookEndpoints"), disabled)).data).toEqual([off]);

    const { data } = await admin.done(call("ListWebhookEndpoints"), {
      ...own,
      status: made.status,
    });
    for (let count = data.length; count < 19; count += 1) await endpoint();
    const create = () => admin.ask(call("CreateWebhookEndpoint"), { ...own, url });
    const answers = await Promise.all([create(), create()]);
    const [full] = answers.filter(({ status }) => status === 200);
    secrets.add(full?.json.secret);
    expect(answers.filter(({ status }) => status !== 200).map(codeOf)).toEqual(["invalid_state"]);
    expect(await admin.refused(call("EnableWebhookEndpoint"), at)).toBe("invalid_state");
    await admin.done(call("DisableWebhookEndpoint"), {
      ...own,
      id: full?.json.endpoint.id,
      reason: "Limit",
    });
    expect((await admin.done(call("EnableWebhookEndpoint"), at)).endpoint).toEqual(made);
    await system.pool.query(
      "UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = 'Test'," +
        " disabled_at = now() WHERE organisation_id = $1",
      [own.organisation],
    );
  });
});

test("a signing secret is in no log, and in tables only encrypted", async ({
  secrets,
  expectHiddenSecrets,
}) => {
  expect(secrets.size).toBeGreaterThan(10);
  await expectHiddenSecrets();
});
