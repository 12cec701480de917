/**
 * Signatures and the client's verifier, compared with OpenSSL, the rules and altered requests.
 * WEBHOOK-1.
 */
import { describe, expect, test } from "vitest";
import { type ReceivedWebhook, verifyWebhook } from "../../packages/client/src/index.ts";
import { newSecret, signatureHeader } from "../../src/webhooks/sign.ts";

const secret = "whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgb2YgYW55Ym9keQ";
const other = "whsec_YW5vdGhlciBvbmUgdGhhdCBpcyBub3QgYSBzZWNyZXQ";
const body = '{"id":"1"}';
const now = 1_767_225_600;
/**
 * printf '1767225600.{"id":"1"}' | openssl dgst -sha256 -hmac
 * whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgb2YgYW55Ym9keQ
 */
const byOpenssl = "74b07036af1b977ce7051f9562b5ca33596df2abddc8eff1b276b3f7a45fbe99";
const header = `t=${now},v1=${byOpenssl}`;

const verdictOf = async (given: Partial<ReceivedWebhook>) => {
  const verdict = await verifyWebhook({ header, body, secret, now, ...given });
  return verdict.ok ? "ok" : verdict.reason;
};

describe("a signature", () => {
  test("is HMAC-SHA256 over t, a dot and the body, keyed with the whole secret", () => {
    expect(signatureHeader([secret], body, now)).toBe(header);
    expect(signatureHeader([secret], Buffer.from(body), now)).toBe(header);
  });

  test("is made by each valid secret, in their order", () => {
    expect(signatureHeader([other, secret], body, now)).toMatch(
      new RegExp(`^t=${now},v1=[0-9a-f]{64},v1=${byOpenssl}$`),
    );
  });

  test("is over the bytes of a text that is not ASCII", async () => {
    const text = '{"name":"Žluťoučký 🐎"}';
    expect(signatureHeader([secret], text, now)).toBe(
      signatureHeader([secret], new TextEncoder().encode(text), now),
    );
    const signed = signatureHeader([secret], text, now);
    expect(await verdictOf({ header: signed, body: Buffer.from(text) })).toBe("ok");
  });

  test("has a secret of 256 random bits", async () => {
    const secrets = Array.from({ length: 100 }, newSecret);
    expect(secrets.filter((one) => !/^whsec_[\w-]{43}$/.test(one))).toEqual([]);
    expect(new Set(secrets).size).toBe(100);
    const [made = ""] = secrets;
    const signed = signatureHeader([made], body, now);
    expect(await verdictOf({ secret: made, header: signed })).toBe("ok");
  });
});

describe("a receiver accepts", () => {
  test.each([
    ["what was signed with its secret", {}],
    ["the bytes as they came", { body: Buffer.from(body) }],
    [
      "one of two signatures while a secret is being changed",
      { header: signatureHeader([other, secret], body, now) },
    ],
    ["the first of two as well", { header: signatureHeader([secret, other], body, now) }],
    ["a header with members of versions to come", { header: `v0=abc,${header},v2=Zm9v/+==,x=` }],
    ["one whose members stand in another order", { header: `v1=${byOpenssl},t=${now}` }],
    ["a request of five minutes ago", { now: now + 300 }],
    ["one of five minutes ago and a part of a second", { now: now + 300.9 }],
    ["one from a clock that is five minutes ahead", { now: now - 300 }],
  ] as const)("%s", async (_what, given) => {
    expect(await verdictOf(given)).toBe("ok");
  });

  test("by this machine's clock if none is passed", async () => {
    const fresh = signatureHeader([secret], body, Math.floor(Date.now() / 1000));
    expect(await verifyWebhook({ header: fresh, body, secret })).toMatchObject({ ok: true });
    const old = signatureHeader([secret], body, 1_000_000_000);
    expect(await verifyWebhook({ header: old, body, secret })).toMatchObject({ reason: "too_old" });
  });
});

describe("a receiver refuses", () => {
  test.each([
    ["no header", undefined],
    ["null", null],
    ["an empty header", ""],
    ["two headers in one", `${header}, ${header}`],
    ["no t", `v1=${byOpenssl}`],
    ["no v1", `t=${now}`],
    ["another version alone", `t=${now},v0=${byOpenssl}`],
    ["t twice, though the same", `t=${now},${header}`],
    ["a t that rises with the second of two", `${header},t=${now + 1}`],
    ["a t with a sign", `t=+${now},v1=${byOpenssl}`],
    ["a t below zero", `t=-${now},v1=${byOpenssl}`],
    ["a t with a zero before it", `t=0${now},v1=${byOpenssl}`],
    ["a t with a fraction", `t=${now}.0,v1=${byOpenssl}`],
    ["a t in another notation", `t=1.7672256e9,v1=${byOpenssl}`],
    ["a t in hexadecimal", `t=0x${now.toString(16)},v1=${byOpenssl}`],
    ["an empty t", `t=,v1=${byOpenssl}`],
    ["a t of other digits", `t=１７６７２２５６００,v1=${byOpenssl}`],
    ["a t beyond all years", `t=${"9".repeat(40)},v1=${byOpenssl}`],
    ["space in it", `t=${now}, v1=${byOpenssl}`],
    ["a member without a name", `${header},=x`],
    ["a member without a value", `${header},v1`],
    ["a comma at its end", `${header},`],
    ["a v1 in capitals", `t=${now},v1=${byOpenssl.toUpperCase()}`],
    ["a v1 that is cut", `t=${now},v1=${byOpenssl.slice(0, 62)}`],
    ["a v1 that goes on", `t=${now},v1=${byOpenssl}00`],
    ["an empty v1", `t=${now},v1=`],
    ["a v1 in base64", `t=${now},v1=${Buffer.from(byOpenssl, "hex").toString("base64")}`],
    ["seventeen signatures", `${header}${`,v1=${byOpenssl}`.repeat(16)}`],
    ["a header of 9,000 characters", `${header},x=${"x".repeat(9_000)}`],
  ])("%s", async (_what, given) => {
    expect(await verdictOf({ header: given })).toBe("header_invalid");
  });

  test.each([
    ["another body", { body: '{"id":"2"}' }, "signature_wrong"],
    ["a body with other white space", { body: '{"id": "1"}' }, "signature_wrong"],
    ["no body", { body: "" }, "signature_wrong"],
    ["another secret's signature", { secret: other }, "signature_wrong"],
    [
      "a t that was moved, so that an old request seems new",
      { header: `t=${now + 400},v1=${byOpenssl}`, now: now + 400 },
      "signature_wrong",
    ],
    ["what is more than five minutes old", { now: now + 301 }, "too_old"],
    ["what is more than five minutes ahead", { now: now - 301 }, "too_new"],
    ["everything where its clock says nothing", { now: Number.NaN }, "too_old"],
    ["everything where it was given no secret", { secret: "" }, "secret_invalid"],
    [
      "everything where its secret is only the beginning of one",
      { secret: "whsec_" },
      "secret_invalid",
    ],
    ["everything where its secret has an end of line", { secret: `${secret}\n` }, "secret_invalid"],
  ] as const)("%s", async (_what, given, reason) => {
    expect(await verdictOf(given)).toBe(reason);
  });
});

/** Numbers from 0 up to a bound, the same in each run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("of 10,000 altered requests", () => {
  const next = seeded(20_261_121);
  const at = (text: string, index: number, put: string) =>
    text.slice(0, index) + put + text.slice(index + 1);
  const hex = (wrong: string) =>
    [..."0123456789abcdef"].filter((digit) => digit !== wrong)[next(15)] ?? "0";

  /** Each alters one thing of a request that was right, and never to another that is right. */
  const alterations: readonly ((signature: string, text: string) => Partial<ReceivedWebhook>)[] = [
    (signature) => {
      const index = next(64);
      return { header: `t=${now},v1=${at(signature, index, hex(signature[index] ?? ""))}` };
    },
    (signature) => ({
      header: `t=${now + (1 + next(250)) * (next(2) === 0 ? 1 : -1)},v1=${signature}`,
    }),
    (signature) => ({ header: `t=${now},v1=${signature.slice(0, next(64))}` }),
    (signature) => ({
      header: `t=${now},v1=${signature.slice(1 + next(63))}${"0".repeat(next(3))}`,
    }),
    (signature) => ({
      header: at(`t=${now},v1=${signature}`, next(17), String.fromCodePoint(256 + next(5_000))),
    }),
    (signature) => ({ header: `t=${now},v1=${[...signature].reverse().join("")}` }),
    (signature, text) => ({
      header: `t=${now},v1=${signature}`,
      body: at(text, next(text.length), String.fromCodePoint(256 + next(5_000))),
    }),
    (signature, text) => ({
      header: `t=${now},v1=${signature}`,
      body: text.slice(0, next(text.length)),
    }),
    (signature, text) => ({
      header: `t=${now},v1=${signature}`,
      body: text + " ".repeat(1 + next(3)),
    }),
    (signature) => ({ header: `t=${now},v1=${signature}`, secret: at(secret, 6 + next(40), "-") }),
  ];

  test("none is accepted, and each was before it was altered", async () => {
    const believed: unknown[] = [];
    let refusedUnaltered = 0;
    for (let count = 0; count < 1_000; count += 1) {
      const text = `{"id":"${count}","sequence":${next(1_000_000)}}`;
      const right = signatureHeader([secret], text, now);
      if ((await verdictOf({ header: right, body: text })) !== "ok") refusedUnaltered += 1;
      for (const alter of alterations) {
        const altered = { header: right, body: text, ...alter(right.slice(-64), text) };
        if ((await verdictOf(altered)) === "ok") believed.push(altered);
      }
    }
    expect(believed).toEqual([]);
    expect(refusedUnaltered).toBe(0);
  });
});
