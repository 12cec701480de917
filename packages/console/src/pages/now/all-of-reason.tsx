/** Retries everything that waits for the same reason, each by itself, with what came of it. */
import type { DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { Button, Portal } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { failureOf } from "../../data/failure.ts";
import { useMayAct } from "../../data/operator.tsx";
import { useOrganisation } from "../../data/organisation.tsx";
import { queryClient } from "../../data/transport.ts";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { State, type StateWords } from "../../design/values/state.tsx";
import styles from "../../forms/forms.module.css";
import { Outcome } from "../../forms/outcome.tsx";
import { send } from "../../forms/send.ts";
import {
  type Attention,
  AttentionKind,
  AttentionService,
} from "../../gen/billing/admin/v1/attention_pb.ts";
import { BillingService } from "../../gen/billing/admin/v1/billing_pb.ts";
import {
  DocumentService,
  type RetryDocumentRequestSchema,
} from "../../gen/billing/admin/v1/documents_pb.ts";
import { WebhookService } from "../../gen/billing/admin/v1/webhooks_pb.ts";
import { announce } from "../../shell/announcer.tsx";

/** A method that retries what its id names. All of them have the same members. */
type Retry = DescMethodUnary<typeof RetryDocumentRequestSchema>;

/** What retries each kind. */
const retries: Readonly<Record<number, unknown>> = {
  [AttentionKind.DOCUMENT_REFUSED]: DocumentService.method.retryDocument,
  [AttentionKind.CREDIT_REFUSED]: DocumentService.method.retryDocument,
  [AttentionKind.SUBSCRIPTION_PARKED]: BillingService.method.retrySubscription,
  [AttentionKind.DELIVERY_FAILED]: WebhookService.method.resendWebhookDelivery,
};

const title = "Retry all of this reason";

/** The most that is read, and so retried, at a time. */
const most = 100;

/** The button for whatever has others of its reason. The page has the drawer, which outlives it. */
export function RetryAllOfReason({
  of,
  onOpen,
}: {
  readonly of: Attention;
  readonly onOpen: () => void;
}) {
  const mayAct = useMayAct();
  if (!mayAct || of.sameReasonCount < 2 || retries[of.kind] === undefined) return null;
  return (
    <Button variant="default" onClick={onOpen}>
      {title}
    </Button>
  );
}

/** The drawer. What was retried leaves the queue meanwhile. */
export function AllOfReason({
  of,
  onClose,
}: {
  readonly of: Attention;
  readonly onClose: () => void;
}) {
  const { id: organisation } = useOrganisation();
  const request = { organisation, kind: of.kind, limit: most };
  const read = useQuery(AttentionService.method.listAttention, request, {
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const same = read.data?.data.filter(
    ({ reason, answer }) => reason === of.reason && answer === of.answer,
  );
  const [rows, setRows] = useState<readonly Attention[]>();
  if (rows === undefined && same !== undefined) setRows(same);
  return (
    <Portal>
      {rows !== undefined ? (
        <Rows rows={rows} message={of.message} onClose={onClose} />
      ) : (
        <Outcome title={title} onClose={onClose}>
          {read.error ? (
            <ErrorState error={read.error} onAgain={() => void read.refetch()} />
          ) : (
            <Skeleton lines={6} />
          )}
        </Outcome>
      )}
    </Portal>
  );
}

const waiting: StateWords = { word: "Waiting", tone: "quiet" };
const running: StateWords = { word: "Being asked", tone: "info" };
const done: StateWords = { word: "On its way", tone: "ok" };

/** Asks for one after the other. Each has its key, which a second round uses again. */
function useRound(rows: readonly Attention[]) {
  const { id: organisation } = useOrganisation();
  const [states, setStates] = useState<Readonly<Record<string, StateWords>>>({});
  const [isRunning, setRunning] = useState(false);
  const keys = useRef(new Map(rows.map(({ id }) => [id, crypto.randomUUID()])));
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  const note = (id: string, state: StateWords) => setStates((old) => ({ ...old, [id]: state }));
  const run = async () => {
    setRunning(true);
    for (const { id, kind, objectId } of rows) {
      if (isGone.current || states[id]?.tone === "ok") continue;
      note(id, running);
      const content: MessageInitShape<typeof RetryDocumentRequestSchema> = {
        organisation,
        id: objectId,
      };
      try {
        await send(retries[kind] as Retry, content, keys.current.get(id) ?? crypto.randomUUID());
        note(id, done);
      } catch (error) {
        const { message, isUnknown } = failureOf(error, true);
        note(id, { word: message, tone: isUnknown ? "warn" : "bad" });
      }
    }
    setRunning(false);
    void queryClient.invalidateQueries();
    announce("All were asked");
  };
  return { states, isRunning, run };
}

function Rows({
  rows,
  message,
  onClose,
}: {
  readonly rows: readonly Attention[];
  readonly message: string;
  readonly onClose: () => void;
}) {
  const { states, isRunning, run } = useRound(rows);
  const left = rows.filter(({ id }) => states[id]?.tone !== "ok").length;
  const again = (
    <Button loading={isRunning} size="md" fullWidth onClick={() => void run()}>
      {`Retry ${left === rows.length ? `all ${left}` : `the ${left} that are left`}`}
    </Button>
  );
  return (
    <Outcome title={title} onClose={onClose} {...(left > 0 && { act: again })}>
      <p>{message}</p>
      <p className="muted">
        They are asked one after the other, and each by itself: what is refused again stays in the
        queue. Closing this stops after the present one.
        {rows.length === most && ` These are the first ${most}.`}
      </p>
      <ul className={styles.rows} aria-label="What is retried">
        {rows.map(({ id, label }) => (
          <li key={id}>
            <span>{label}</span>
            <State {...(states[id] ?? waiting)} />
          </li>
        ))}
      </ul>
    </Outcome>
  );
}
