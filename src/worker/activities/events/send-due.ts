/**
 * Sends what is due to an endpoint with a closed breaker, or one probe. A few requests run at once,
 * and each is followed by the next delivery. One statement claims or records many deliveries.
 * Sending ends if failures open the breaker, the endpoint's state changes, or its time is over.
 * WEBHOOK-4, WEBHOOK-5.
 */
import { crashPoint } from "../../../crash-points.ts";
import {
  type AttemptVerdict,
  evaluateAnswer,
  failuresToOpen,
  nextAttemptAfter,
  pauseAfter,
  wholeTimeMs,
} from "../../../domain/events/retry-schedule.ts";
import type { EndpointState } from "../../../store/events/deliveries.ts";
import type { Attempt } from "../../../store/events/delivery-attempts.ts";
import type { ClaimedDelivery } from "../../../store/events/delivery-claims.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { PostOutcome } from "../../../webhooks/post.ts";
import { signatureHeader, signatureHeaderName } from "../../../webhooks/sign.ts";
import { requestsAtOnce } from "./delivery-pace.ts";
import { type DeliverParts, exhaust, type Progress, record, type Sending } from "./sending.ts";

/**
 * Deliveries of a claim. It bounds the bodies in memory for an endpoint, and the deliveries sent
 * again after a killed process.
 */
const claimAtMost = 50;

/** Sends and returns how many deliveries it claimed. */
export async function sendDue(
  parts: DeliverParts,
  key: EndpointKey,
  endpoint: EndpointState,
  progress: Progress,
): Promise<number> {
  const isProbe = endpoint.openMs !== null;
  // If another process took the probe, the breaker is open again.
  if (isProbe && !(await parts.store.takeProbe(key))) return 1;
  const sending: Sending = {
    parts,
    key,
    progress,
    isProbe,
    waiting: [],
    done: [],
    target: { url: endpoint.url, secrets: [] },
    failures: endpoint.failures,
    claimed: 0,
    underWay: 0,
    isOver: false,
    claiming: null,
  };
  await claim(sending, endpoint);
  const ends = await Promise.allSettled(
    Array.from({ length: isProbe ? 1 : requestsAtOnce }, (_, index) =>
      sendWithPermit(sending, index === 0),
    ),
  );
  await record(sending);
  if (sending.waiting.length > 0) await parts.store.release(key, sending.waiting);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return sending.claimed;
}

async function sendWithPermit(sending: Sending, isFirst: boolean): Promise<void> {
  const release = sending.parts.permits.take(sending.key.organisationId, isFirst);
  if (release === null) return;
  try {
    for (let one = await next(sending); one !== null; one = await next(sending)) {
      await send(sending, one);
      await sending.parts.pace?.();
    }
    // The other requests may wait long for their answers.
    await record(sending);
  } finally {
    release();
  }
}

/**
 * Returns the next delivery to send, and claims more if none is left. Null if the sending is over.
 */
async function next(sending: Sending): Promise<ClaimedDelivery | null> {
  const { parts, progress } = sending;
  // Deliveries that remain after the hard end are released before their claim expires.
  while (!sending.isOver && !parts.stopping?.aborted && performance.now() < progress.hardEndMs) {
    const one = sending.waiting.shift();
    if (one !== undefined) return one;
    if (sending.isProbe) break;
    sending.claiming ??= claimMore(sending).finally(() => {
      sending.claiming = null;
    });
    await sending.claiming;
  }
  return null;
}

/** Records the finished attempts, and claims more unless the sending is over. */
async function claimMore(sending: Sending): Promise<void> {
  const { parts, key, progress } = sending;
  try {
    await record(sending);
    const endMs = sending.underWay > 0 ? progress.hardEndMs : progress.softEndMs;
    const isTime = performance.now() < endMs;
    const endpoint = isTime ? await parts.store.load(key) : null;
    sending.isOver ||=
      endpoint === null || endpoint.isDisabled || endpoint.openMs !== null || !isDue(endpoint);
    if (sending.isOver || endpoint === null) return;
    await claim(sending, endpoint);
  } catch (error) {
    sending.isOver = true;
    throw error;
  }
}

const isDue = ({ dueMs }: EndpointState) => dueMs !== null && dueMs <= 0;

/**
 * Claims the next deliveries. One that cannot be signed is rescheduled, and one that is too old is
 * ended. It repeats until something can be sent.
 */
async function claim(sending: Sending, endpoint: EndpointState): Promise<void> {
  const { parts, key, progress, isProbe } = sending;
  // The first claim shows whether the endpoint answers.
  const first = isProbe ? 1 : requestsAtOnce;
  const claimed = await parts.store.claim(key, sending.claimed === 0 ? first : claimAtMost);
  crashPoint("delivery_loaded");
  sending.claimed += claimed.length;
  sending.isOver ||= claimed.length === 0;
  const overdue = claimed.filter(({ ageMs }) => ageMs >= wholeTimeMs(parts.firstPauseMs));
  await exhaust(
    parts,
    key,
    overdue.map(({ id }) => id),
    progress,
  );
  // Deliveries whose time began again are claimed once more.
  if (overdue.length > 0) await parts.store.release(key, overdue);
  const current = claimed.filter((one) => !overdue.includes(one));
  const secrets = await openSecrets(sending, endpoint, current);
  if (secrets === null) return;
  sending.target = { url: endpoint.url, secrets };
  // Running requests are not recorded yet, so the larger count of failures is the later one.
  sending.failures =
    sending.underWay > 0 ? Math.max(sending.failures, endpoint.failures) : endpoint.failures;
  sending.waiting.push(...current);
}

/** Returns null if the secrets cannot be decrypted because the worker lacks their key. */
async function openSecrets(
  { parts, key }: Sending,
  endpoint: EndpointState,
  claimed: readonly ClaimedDelivery[],
): Promise<readonly string[] | null> {
  try {
    return endpoint.secrets();
  } catch (error) {
    parts.onUndecryptable(key, error);
    const random = parts.random ?? Math.random;
    const deferred = claimed.map((one) => ({
      ...one,
      pauseMs: nextAttemptAfter(one.ageMs, parts.firstPauseMs, random()),
    }));
    await parts.store.defer(key, deferred, "the endpoint's signing secret cannot be opened");
    return null;
  }
}

async function send(sending: Sending, delivery: ClaimedDelivery): Promise<void> {
  const { parts, target, progress } = sending;
  const { url, secrets } = target;
  const { body } = delivery;
  const headers = {
    [signatureHeaderName]: signatureHeader(secrets, body, Math.floor(Date.now() / 1000)),
    ...(delivery.traceparent === null ? {} : { traceparent: delivery.traceparent }),
  };
  const sentAtMs = performance.now();
  sending.underWay += 1;
  const posted = await parts.poster.post({ url, body, headers });
  sending.underWay -= 1;
  crashPoint("delivery_answered");
  const verdict = evaluate(posted);
  if (verdict.kind === "delivered") sending.failures = 0;
  else sending.failures += 1;
  if (verdict.kind === "failed") progress.failed += 1;
  // Its record opens the breaker or disables the endpoint.
  if (verdict.kind === "gone" || sending.failures >= failuresToOpen) sending.isOver = true;
  sending.done.push({ url, sentAtMs, attempt: attemptOf(sending, delivery, posted, verdict) });
}

function attemptOf(
  { parts, isProbe }: Sending,
  { id, beganAt, claimedUntil, tries, ageMs, traceparent }: ClaimedDelivery,
  posted: PostOutcome,
  verdict: AttemptVerdict,
): Omit<Attempt, "agoMs"> {
  const { firstPauseMs, random = Math.random } = parts;
  const retryAfterMs = verdict.kind === "failed" ? verdict.retryAfterMs : null;
  return {
    deliveryId: id,
    beganAt,
    claimedUntil,
    latencyMs: posted.latencyMs,
    status: posted.kind === "answered" ? posted.status : null,
    error: verdict.kind === "delivered" ? null : verdict.error,
    answer: posted.kind === "answered" ? posted.answer : null,
    verdict: verdict.kind,
    pauseMs: pauseAfter(tries + 1, firstPauseMs, random(), retryAfterMs),
    restarts: tries === 0 && !isProbe && ageMs > wholeTimeMs(firstPauseMs) / 2,
    traceparent,
  };
}

function evaluate(posted: PostOutcome): AttemptVerdict {
  if (posted.kind === "failed") return { kind: "failed", error: posted.error, retryAfterMs: null };
  return evaluateAnswer(posted.status, posted.retryAfterMs);
}
