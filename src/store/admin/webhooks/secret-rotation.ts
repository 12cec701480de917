/** Decides which secrets of an endpoint sign after a rotation. WEBHOOK-1. */
import { Refusal } from "../../../domain/refusal.ts";
import type { WebhookEndpoint } from "../../../gen/prisma/client.ts";

/** A rotation: the new secret, and which previous secrets stop signing at once. */
export interface Rotation {
  readonly secret: string;
  readonly dropPrevious: boolean;
  readonly dropCurrent: boolean;
}

/** How long the previous secret also signs after a rotation. WEBHOOK-1. */
const overlapMs = 24 * 60 * 60 * 1000;

/**
 * Returns the secret that signs in addition to a new one: the remaining previous secret, of which
 * there is at most one.
 */
export function previousOf(
  endpoint: WebhookEndpoint,
  { dropPrevious, dropCurrent }: Omit<Rotation, "secret">,
  now: number,
): Pick<WebhookEndpoint, "encryptedPrevious" | "previousKeyId" | "previousUntil"> {
  const { encryptedSecret, encryptionKeyId, encryptedPrevious, previousKeyId, previousUntil } =
    endpoint;
  const hasPrevious = !dropPrevious && previousUntil !== null && previousUntil.getTime() > now;
  if (hasPrevious && !dropCurrent) {
    const message =
      `The secret before the last rotation signs until ${previousUntil.toISOString()}. ` +
      "With drop_previous it stops now. With drop_current the newest one stops, which is right " +
      "if no receiver has it.";
    throw new Refusal("invalid_state", message);
  }
  const until = new Date(now + overlapMs);
  if (!dropCurrent)
    return {
      encryptedPrevious: encryptedSecret,
      previousKeyId: encryptionKeyId,
      previousUntil: until,
    };
  if (hasPrevious) return { encryptedPrevious, previousKeyId, previousUntil: until };
  return { encryptedPrevious: null, previousKeyId: null, previousUntil: null };
}
