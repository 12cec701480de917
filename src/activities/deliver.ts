/**
 * Attempts to deliver an event to a webhook endpoint, and the end of trying. What an attempt that failed throws says when the engine is to
 * make the next; what the endpoint answered is in the database alone, since histories are read by operators. decisions §3 "Webhook endpoint".
 */
import { ApplicationFailure, ApplicationFailureCategory } from "@temporalio/common";
import type { DeliveryOutcome, WebhookDeliveryInput } from "../../workflows/contract.ts";
import { checkpoint } from "../checkpoint.ts";
import {
  type AttemptVerdict,
  breakerSteps,
  defaultFirstPauseMs,
  judgeAnswer,
  longestPauseMs,
  pauseAfter,
  putOffAfter,
  wholeTimeMs,
} from "../domain/webhook-retry.ts";
import { type DeliveryStore, type LoadedDelivery, lateMs, type PendingDelivery } from "../store/deliveries.ts";
import type { Poster, PostOutcome } from "../webhooks/post.ts";
import { signatureHeader, signatureHeaderName } from "../webhooks/sign.ts";
import type { EndpointTurns } from "./endpoint-turns.ts";

/** What attempts need. */
export interface DeliverParts {
  readonly store: DeliveryStore;
  readonly poster: Pick<Poster, "post">;
  readonly turns: EndpointTurns;
  /** Told of each endpoint that is disabled because of what it answered, or did not. */
  readonly onDisabled: (organisationId: string, endpointId: string, reason: string) => void;
  /** Told where an endpoint's secrets cannot be opened. */
  readonly onSealed: (organisationId: string, endpointId: string, error: unknown) => void;
  /** From 0 up to 1; by chance where it is left out. */
  readonly random?: () => number;
}

/** The activities of a delivery's workflow. */
export interface DeliveryActivities {
  /** Sends the event once. Throws, with the time of the next attempt, where it is still to be delivered. */
  attemptDelivery(input: WebhookDeliveryInput): Promise<DeliveryOutcome>;
  /** The end of trying; null where it is to begin anew. */
  exhaustDelivery(input: WebhookDeliveryInput): Promise<DeliveryOutcome | null>;
}

/** After a failure of the database's it is asked again in a while: the pauses between attempts would be hours by then. */
const troubleMs = 60_000;

/** Shorter waits for a turn are not noted: what waits is taken for lost only after two minutes. */
const notedWaitMs = 60_000;

/** The activities over these parts. */
export function createDelivery(parts: DeliverParts): DeliveryActivities {
  return {
    attemptDelivery: (input) =>
      attempt(parts, input).catch((error: unknown) => {
        if (error instanceof ApplicationFailure) throw error;
        const message = error instanceof Error ? error.message : String(error);
        const nextRetryDelay = Math.min(troubleMs, wholeTimeMs(firstPauseOf(input)));
        throw ApplicationFailure.create({ type: "Trouble", message, nextRetryDelay });
      }),
    exhaustDelivery: (input) => endTrying(parts, input),
  };
}

function firstPauseOf(input: WebhookDeliveryInput): number {
  return input.firstPauseMs ?? defaultFirstPauseMs;
}

/** Thrown where the engine is to try again: no failure of ours, so that it is neither counted nor logged as one. */
function again(type: string, message: string, nextRetryDelay: number): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message,
    nextRetryDelay,
    category: ApplicationFailureCategory.BENIGN,
  });
  // Where it comes from is no news, and each is kept by the engine.
  failure.stack = "";
  return failure;
}

async function attempt(parts: DeliverParts, input: WebhookDeliveryInput): Promise<DeliveryOutcome> {
  const turn = parts.turns.take(input.organisationId, input.endpointId);
  if (turn.kind === "later") {
    if (turn.inMs > notedWaitMs) await parts.store.putOff(input, turn.inMs, null);
    throw again("EndpointBusy", "other attempts are under way", turn.inMs);
  }
  const takenAt = performance.now();
  let hasSent = false;
  try {
    return await attemptInTurn(parts, input, () => {
      hasSent = true;
    });
  } finally {
    turn.end(hasSent ? performance.now() - takenAt : undefined);
  }
}

async function attemptInTurn(
  parts: DeliverParts,
  input: WebhookDeliveryInput,
  onSending: () => void,
): Promise<DeliveryOutcome> {
  const delivery = await find(parts, input);
  if (delivery.kind === "settled") return delivery.outcome;
  const secrets = await openSecrets(parts, input, delivery);
  await passBreaker(parts, input, delivery);
  const { url, body } = delivery;
  const headers = { [signatureHeaderName]: signatureHeader(secrets, body, Math.floor(Date.now() / 1000)) };
  onSending();
  const posted = await parts.poster.post({ url, body, headers });
  checkpoint("delivery_answered");
  return save(parts, input, delivery, posted);
}

/** What is to be sent, unless nothing is: then it has come to its end, or does so here. */
async function find(parts: DeliverParts, input: WebhookDeliveryInput): Promise<LoadedDelivery> {
  const { store } = parts;
  const delivery = await store.load(input);
  checkpoint("delivery_loaded");
  if (delivery.kind === "settled") return delivery;
  if (delivery.isDisabled) return { kind: "settled", outcome: await store.giveUp(input) };
  if (delivery.tries === 0 || delivery.ageMs < wholeTimeMs(firstPauseOf(input))) return delivery;
  const outcome = await endTrying(parts, input);
  // Its time has begun anew, with all that goes by it.
  return outcome === null ? store.load(input) : { kind: "settled", outcome };
}

async function endTrying(
  { store, onDisabled }: DeliverParts,
  input: WebhookDeliveryInput,
): Promise<DeliveryOutcome | null> {
  const firstPauseMs = firstPauseOf(input);
  const { outcome, disabled } = await store.exhaust(input, {
    // Whoever asks for it again begins anew; the engine's last attempt comes after half of the time at the soonest.
    recentMs: wholeTimeMs(firstPauseMs) / 2,
    // Two of the longest pauses are no chance.
    awayMs: 2 * longestPauseMs(firstPauseMs) + lateMs,
  });
  if (disabled !== null) onDisabled(input.organisationId, disabled.endpointId, disabled.reason);
  return outcome;
}

/** Puts off what cannot be signed: somebody must give the worker the key that it was sealed with. */
async function openSecrets(
  parts: DeliverParts,
  input: WebhookDeliveryInput,
  delivery: PendingDelivery,
): Promise<readonly string[]> {
  try {
    return delivery.secrets();
  } catch (error) {
    parts.onSealed(input.organisationId, delivery.endpointId, error);
    const reason = "the endpoint's signing secret cannot be opened";
    throw await putOff(parts, input, delivery, { type: "SecretSealed", reason, leastMs: 0 });
  }
}

/** Goes on where the endpoint's breaker is closed, or where this attempt is the one that goes first; else throws. */
async function passBreaker(parts: DeliverParts, input: WebhookDeliveryInput, delivery: PendingDelivery): Promise<void> {
  const { openMs, endpointId, failures } = delivery;
  if (openMs === null) return;
  if (openMs === 0 && (await parts.store.takeTrial(input.organisationId, endpointId))) return;
  const reason = `not sent: the endpoint failed ${failures} times in a row`;
  throw await putOff(parts, input, delivery, { type: "EndpointPaused", reason, leastMs: openMs });
}

async function putOff(
  { store, random = Math.random }: DeliverParts,
  input: WebhookDeliveryInput,
  { ageMs }: PendingDelivery,
  { type, reason, leastMs }: { readonly type: string; readonly reason: string; readonly leastMs: number },
): Promise<ApplicationFailure> {
  const pauseMs = Math.ceil(Math.max(leastMs, putOffAfter(ageMs, firstPauseOf(input), random())));
  await store.putOff(input, pauseMs, reason);
  return again(type, reason, pauseMs);
}

async function save(
  { store, onDisabled, random = Math.random }: DeliverParts,
  input: WebhookDeliveryInput,
  { endpointId, url, loadedAt, tries, ageMs, openMs }: PendingDelivery,
  posted: PostOutcome,
): Promise<DeliveryOutcome> {
  const firstPauseMs = firstPauseOf(input);
  const verdict = judge(posted);
  const askedMs = verdict.kind === "failed" ? verdict.askedMs : null;
  const error = verdict.kind === "delivered" ? null : verdict.error;
  const pauseMs = pauseAfter(tries + 1, firstPauseMs, random(), askedMs);
  const { state, hasDisabled } = await store.record(input, {
    endpointId,
    url,
    at: loadedAt,
    latencyMs: posted.latencyMs,
    status: posted.kind === "answered" ? posted.status : null,
    error,
    answer: posted.kind === "answered" ? posted.answer : null,
    verdict: verdict.kind,
    dueInMs: pauseMs + lateMs,
    isTrial: openMs !== null,
    breakerSteps: breakerSteps(firstPauseMs),
    beginsAnew: tries === 0 && openMs === null && ageMs > wholeTimeMs(firstPauseMs) / 2,
  });
  checkpoint("delivery_saved");
  if (hasDisabled) onDisabled(input.organisationId, endpointId, error ?? "");
  if (state !== "pending") return state;
  // Nothing of what the endpoint or a network said: a status at most.
  const told = posted.kind === "answered" ? `the endpoint answered ${posted.status}` : "no answer came";
  throw again("EndpointFailed", told, pauseMs);
}

function judge(posted: PostOutcome): AttemptVerdict {
  if (posted.kind === "failed") return { kind: "failed", error: posted.error, askedMs: null };
  return judgeAnswer(posted.status, posted.retryAfterMs);
}
