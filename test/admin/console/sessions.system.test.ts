/** Sessions of operators in browsers: their begin, their rights and their end. ADMIN-17 */
import { expect } from "vitest";
import { addSignInCode, deleteEndedSessions } from "../../../src/store/access/console-sessions.ts";
import { hashApiKey } from "../../../src/transport/rpc/gate/api-key.ts";
import { tables } from "../../support/rows.ts";
import type { TestSystem } from "../../support/system.ts";
import { aloneAdminTest as test } from "../services/fixtures.ts";
import { askWith } from "../services/request.ts";
import { browse, callWith, errorOf, signIn } from "./browser.ts";

const get = "SessionService/GetSession";

/** A code that the server's machine made. */
async function newCode({ pool }: TestSystem): Promise<string> {
  const code = crypto.randomUUID().replaceAll("-", "").padEnd(43, "A");
  expect(await addSignInCode(pool, hashApiKey(code))).toBe(true);
  return code;
}

/** Moves instants of all sessions into the past. */
const age = ({ pool }: TestSystem, column: string, minutes: number) =>
  pool.query(`UPDATE console_sessions SET ${column} = now() - ${minutes} * interval '1 minute'`);

const tryIn = ({ adminUrl }: TestSystem, body: unknown, headers = {}) =>
  browse(`${adminUrl}/console/session`, { method: "POST", body, headers });

test("a token signs in, and the session is of its operator in its role", async ({ system }) => {
  const key = await system.operator("read-only", "Rita");
  const call = callWith(system.adminUrl, await signIn(system.adminUrl, { token: key }));
  const { json } = await call(get);
  expect(json).toMatchObject({
    operator: { name: "Rita", role: "OPERATOR_ROLE_READ_ONLY" },
    session: { current: true, id: expect.any(String) },
  });
  const { created, idleEndsAt, endsAt } = json.session;
  const minutes = (until: string) => Math.round((Date.parse(until) - Date.parse(created)) / 60_000);
  expect([minutes(idleEndsAt), minutes(endsAt)]).toEqual([30, 720]);
  expect((await call("OrganisationService/ListOrganisations")).status).toBe(200);
  const write = await call("OrganisationService/CreateOrganisation", { name: "X" });
  expect([write.status, errorOf(write)]).toEqual([403, "insufficient_role"]);
});

test("an act in the console is in the audit log under the operator and the token", async ({
  system,
  admin,
}) => {
  const key = await system.operator("admin", "Ada");
  const call = callWith(system.adminUrl, await signIn(system.adminUrl, { token: key }));
  const signedIn = await admin.lastEntry();
  expect(signedIn).toMatchObject({
    operatorName: "Ada",
    operation: "POST /console/session",
    targetKind: "console_session",
  });
  expect(JSON.stringify(signedIn)).not.toContain("hash");
  const settings = { name: "By cookie", timezone: "UTC", defaultCurrency: "EUR" };
  const headers = { "Idempotency-Key": "by-cookie" };
  const first = await call("OrganisationService/CreateOrganisation", settings, headers);
  const again = await call("OrganisationService/CreateOrganisation", settings, headers);
  expect([first.status, again.text]).toEqual([200, first.text]);
  expect(await admin.lastEntry()).toMatchObject({
    operatorName: "Ada",
    token: signedIn.token,
    operation: "billing.admin.v1.OrganisationService/CreateOrganisation",
  });
});

test("a code signs in the first owner once, within ten minutes", async ({ system, admin }) => {
  const { operator } = await admin.done("OperatorService/GetCurrentOperator");
  const code = await newCode(system);
  const together = await Promise.all([1, 2, 3].map(() => tryIn(system, { code })));
  expect(together.map(({ status }) => status).sort()).toEqual([204, 401, 401]);
  const late = await newCode(system);
  await system.pool.query("UPDATE console_sign_in_codes SET expires_at = now()");
  const refused = await tryIn(system, { code: late });
  expect([refused.status, errorOf(refused)]).toEqual([401, "invalid_operator_token"]);
  const cookie = await signIn(system.adminUrl, { code: await newCode(system) });
  expect((await callWith(system.adminUrl, cookie)(get)).json.operator).toEqual(operator);
});

test("what signs nobody in is refused in the form of REST, and sets no cookie", async ({
  system,
  made,
}) => {
  const key = await system.operator();
  const cases: readonly (readonly [unknown, number, string])[] = [
    [{ token: "op_invented" }, 401, "invalid_operator_token"],
    [{ token: made.apiKey }, 401, "invalid_operator_token"],
    [{ code: "short" }, 401, "invalid_operator_token"],
    [{ code: "A".repeat(43) }, 401, "invalid_operator_token"],
    [{}, 422, "invalid_parameter"],
    [{ token: key, code: "A".repeat(43) }, 422, "invalid_parameter"],
    [{ token: key, more: 1 }, 422, "invalid_parameter"],
    [{ token: 1 }, 422, "invalid_parameter"],
    ["[", 422, "invalid_parameter"],
    ["null", 422, "invalid_parameter"],
    [{ token: "x".repeat(2_000) }, 413, "request_too_large"],
  ];
  for (const [body, status, code] of cases) {
    const answer = await tryIn(system, body);
    expect([body, answer.status, errorOf(answer)]).toEqual([body, status, code]);
    expect(answer.json.error.request_id).toBe(answer.headers["request-id"]);
    expect(answer.headers["set-cookie"]).toBeUndefined();
  }
  const form = await tryIn(system, { token: key }, { "Content-Type": "text/plain" });
  expect([form.status, errorOf(form)]).toEqual([422, "invalid_parameter"]);
});

test("a session ends after 30 minutes without a use", async ({ system }) => {
  const key = await system.operator();
  const call = callWith(system.adminUrl, await signIn(system.adminUrl, { token: key }));
  await age(system, "last_used_at", 29);
  // What the console asks by itself is no use.
  expect((await call(get)).status).toBe(200);
  await age(system, "last_used_at", 29);
  expect((await call("OrganisationService/ListOrganisations")).status).toBe(200);
  await age(system, "last_used_at", 31);
  const ended = await call("OrganisationService/ListOrganisations");
  expect([ended.status, errorOf(ended)]).toEqual([401, "invalid_operator_token"]);
});

test("a call that the console makes by itself does not put off the end", async ({ system }) => {
  const key = await system.operator();
  const call = callWith(system.adminUrl, await signIn(system.adminUrl, { token: key }));
  await age(system, "last_used_at", 20);
  const { idleEndsAt } = (await call(get)).json.session;
  expect((await call(get)).json.session.idleEndsAt).toBe(idleEndsAt);
  await call("OrganisationService/ListOrganisations");
  expect((await call(get)).json.session.idleEndsAt > idleEndsAt).toBe(true);
});

test("a session ends 12 hours after its begin, however it is used", async ({ system }) => {
  const key = await system.operator();
  const call = callWith(system.adminUrl, await signIn(system.adminUrl, { token: key }));
  await age(system, "created_at", 719);
  const { idleEndsAt, endsAt } = (await call(get)).json.session;
  expect(idleEndsAt).toBe(endsAt);
  await age(system, "created_at", 721);
  expect((await call(get)).status).toBe(401);
});

test("a session ends with the token that began it, and with no other", async ({
  system,
  admin,
}) => {
  const request = { name: "Tom", role: "OPERATOR_ROLE_ADMIN" };
  const { operator } = await admin.done("OperatorService/CreateOperator", request);
  const tokenOf = (name: string) =>
    admin.done("OperatorService/CreateOperatorToken", { operator: operator.id, name });
  const [one, other] = [await tokenOf("one"), await tokenOf("other")];
  const first = callWith(system.adminUrl, await signIn(system.adminUrl, { token: one.value }));
  const second = callWith(system.adminUrl, await signIn(system.adminUrl, { token: other.value }));
  await admin.done("OperatorService/RevokeOperatorToken", { id: one.token.id });
  expect([(await first(get)).status, (await second(get)).status]).toEqual([401, 200]);
  const expire = "UPDATE operator_tokens SET expires_at = now() WHERE id = $1";
  await system.pool.query(expire, [other.token.id]);
  expect((await second(get)).status).toBe(401);
});

test("a deactivated operator's sessions are over for good", async ({ system, admin }) => {
  const request = { name: "Una", role: "OPERATOR_ROLE_OWNER" };
  const { operator } = await admin.done("OperatorService/CreateOperator", request);
  const token = { operator: operator.id, name: "Laptop" };
  const { value } = await admin.done("OperatorService/CreateOperatorToken", token);
  const call = callWith(system.adminUrl, await signIn(system.adminUrl, { token: value }));
  const update = (change: object) =>
    admin.done("OperatorService/UpdateOperator", { id: operator.id, ...change });
  await update({ role: "OPERATOR_ROLE_READ_ONLY" });
  expect(errorOf(await call("OperatorService/ListOperators"))).toBe("insufficient_role");
  await update({ active: false });
  expect((await call(get)).status).toBe(401);
  await update({ active: true });
  expect((await call(get)).status).toBe(401);
});

test("an operator lists and ends the operator's sessions, and nobody else's", async ({
  system,
  admin,
}) => {
  const key = await system.operator("read-only", "Vera");
  const vera = askWith(system, key);
  const [one, two] = [
    await signIn(system.adminUrl, { token: key }),
    await signIn(system.adminUrl, { token: key }),
  ];
  const wim = callWith(
    system.adminUrl,
    await signIn(system.adminUrl, { token: await system.operator("owner", "Wim") }),
  );
  const { data } = (await callWith(system.adminUrl, two)("SessionService/ListSessions")).json;
  expect(data.map(({ current }: { current?: boolean }) => current === true)).toEqual([true, false]);
  const [, older] = data;
  expect(errorOf(await wim("SessionService/EndSession", { id: older.id }))).toBe(
    "session_not_found",
  );
  expect(await vera.refused("SessionService/EndSession", { id: "x" })).toBe("session_not_found");
  await vera.done("SessionService/EndSession", { id: older.id });
  expect(await vera.refused("SessionService/EndSession", { id: older.id })).toBe(
    "session_not_found",
  );
  expect(await admin.lastEntry()).toMatchObject({
    operatorName: "Vera",
    target: older.id,
    operation: "billing.admin.v1.SessionService/EndSession",
  });
  expect((await callWith(system.adminUrl, one)(get)).status).toBe(401);
  expect((await callWith(system.adminUrl, two)(get)).status).toBe(200);
  expect((await vera.done(get)).session).toBeUndefined();
  expect(await vera.done("SessionService/EndAllSessions")).toEqual({ ended: 1 });
  expect((await callWith(system.adminUrl, two)(get)).status).toBe(401);
  expect((await wim(get)).status).toBe(200);
});

test("signing out ends the session and deletes its cookie, also twice", async ({ system }) => {
  const key = await system.operator();
  const cookie = await signIn(system.adminUrl, { token: key });
  const out = () =>
    browse(`${system.adminUrl}/console/session`, { method: "DELETE", headers: { cookie } });
  for (const answer of [await out(), await out()]) {
    expect(answer.status).toBe(204);
    expect(answer.headers["set-cookie"]).toEqual([
      "billing=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
    ]);
  }
  expect((await callWith(system.adminUrl, cookie)(get)).status).toBe(401);
});

test("the twenty-first session of an operator ends the oldest", async ({ system }) => {
  const key = await system.operator("read-only", "Xena");
  const first = await signIn(system.adminUrl, { token: key });
  for (let more = 0; more < 20; more += 1) await signIn(system.adminUrl, { token: key });
  const { data } = await askWith(system, key).done("SessionService/ListSessions");
  expect(data).toHaveLength(20);
  expect((await callWith(system.adminUrl, first)(get)).status).toBe(401);
});

test("ended sessions and expired codes are deleted, and no others", async ({ system }) => {
  await tables(system.pool).consoleSession.deleteMany();
  await tables(system.pool).consoleSignInCode.deleteMany();
  const key = await system.operator();
  await signIn(system.adminUrl, { token: key });
  await age(system, "last_used_at", 31);
  const kept = await signIn(system.adminUrl, { token: key });
  await newCode(system);
  await system.pool.query("UPDATE console_sign_in_codes SET expires_at = now()");
  await newCode(system);
  expect(await deleteEndedSessions(system.pool, 10)).toBe(2);
  expect(await deleteEndedSessions(system.pool, 10)).toBe(0);
  expect((await callWith(system.adminUrl, kept)(get)).status).toBe(200);
});
