/** The encryption of payloads: what comes back, rotation, and what a wrong key says. */
import { defaultPayloadConverter, type Payload } from "@temporalio/common";
import { expect, test } from "vitest";
import { createPayloadCodec, payloadKeyId } from "../../../src/worker/temporal/payload-codec.ts";

const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const value = { organisationId: "0198-north", progress: null };
const plain = (): Payload => defaultPayloadConverter.toPayload(value);

async function encrypted(key: Buffer): Promise<Payload> {
  const [payload] = await createPayloadCodec(key).encode([plain()]);
  if (payload === undefined) throw new Error("nothing was encrypted");
  return payload;
}

const textOf = ({ metadata, data }: Payload) =>
  Buffer.concat([...Object.values(metadata ?? {}), data ?? new Uint8Array()]).toString("latin1");

test("an encrypted payload shows its key's id and nothing of its content", async () => {
  const payload = await encrypted(one);
  expect(textOf(payload)).not.toContain("north");
  expect(textOf(payload)).not.toContain("json/plain");
  expect(Buffer.from(payload.metadata?.encoding ?? []).toString()).toBe("binary/encrypted");
  const keyId = Buffer.from(payload.metadata?.["encryption-key-id"] ?? []).toString();
  expect(keyId).toBe(payloadKeyId(one));
  expect(keyId).toMatch(/^[0-9a-f]{16}$/);
});

test("equal payloads are encrypted differently", async () => {
  expect(textOf(await encrypted(one))).not.toBe(textOf(await encrypted(one)));
});

test("a payload is decrypted to what it was, with the current key and earlier ones", async () => {
  for (const codec of [createPayloadCodec(one), createPayloadCodec(other, [one])]) {
    const [payload] = await codec.decode([await encrypted(one)]);
    expect(defaultPayloadConverter.fromPayload(payload as Payload)).toEqual(value);
  }
});

test("earlier keys alone decrypt and never encrypt", async () => {
  const codec = createPayloadCodec(null, [one]);
  const [payload] = await codec.decode([await encrypted(one)]);
  expect(defaultPayloadConverter.fromPayload(payload as Payload)).toEqual(value);
  expect(await codec.encode([plain()])).toEqual([plain()]);
});

test("a plain payload is passed on, with and without a key", async () => {
  for (const codec of [createPayloadCodec(null), createPayloadCodec(one)])
    expect(await codec.decode([plain()])).toEqual([plain()]);
});

test("an unknown key is an error that names the settings and both ids", async () => {
  const decode = createPayloadCodec(other).decode([await encrypted(one)]);
  await expect(decode).rejects.toThrow(
    `A payload was encrypted with key "${payloadKeyId(one)}", which is neither ` +
      "TEMPORAL_PAYLOAD_KEY nor among TEMPORAL_PAYLOAD_KEYS_BEFORE " +
      `(${payloadKeyId(other)}).`,
  );
  const without = createPayloadCodec(null).decode([await encrypted(one)]);
  await expect(without).rejects.toThrow("(none is set).");
});

test("an altered or shortened payload is refused", async () => {
  const { metadata, data } = await encrypted(one);
  const bytes = Buffer.from(data ?? []);
  const altered = Buffer.from(bytes);
  altered[20] = (altered[20] ?? 0) ^ 1;
  for (const wrong of [altered, bytes.subarray(0, 20), bytes.subarray(0, -1)]) {
    const decode = createPayloadCodec(one).decode([{ metadata, data: wrong } as Payload]);
    await expect(decode).rejects.toThrow(`with key ${payloadKeyId(one)} was altered`);
  }
});
