/**
 * An act: what is typed, its preview, and doing it. The key is made when the drawer opens and goes
 * with each try. A request whose outcome is not known is repeated as it was, and nothing else is
 * sent before its outcome is known.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { failureOf, isSignedOut } from "../data/failure.ts";
import { announce } from "../shell/announcer.tsx";
import { curlOf } from "./curl.ts";
import { focusNewest, noteDone } from "./last-act.ts";
import { usePreview } from "./use-preview.ts";

/** What was done, and where the page says it. */
interface Done {
  readonly words: string;
  /** How it came otherwise than previewed. */
  readonly differences?: readonly string[];
  /** Goes to another page, or closes the drawer. Returns the path of the page then. */
  readonly leave: () => string | Promise<string>;
}

/** What an act consists of. */
interface ActOptions<I extends DescMessage, O extends DescMessage, P extends DescMessage> {
  readonly method: DescMethodUnary<I, O>;
  /** The request without its reason and previewed state, or null while the form is incomplete. */
  readonly request: MessageInitShape<I> | null;
  readonly preview?: DescMethodUnary<DescMessage, P>;
  readonly done: (answer: MessageShape<O>, preview: MessageShape<P> | undefined) => Done;
}

/** An act as its drawer shows it. */
export interface Act<P extends DescMessage = DescMessage> {
  /** The reason, or null if the act takes none. */
  readonly reason: string | null;
  readonly setReason: (reason: string) => void;
  readonly hasPreview: boolean;
  readonly preview: MessageShape<P> | undefined;
  readonly previewError: ConnectError | null;
  /** Whether the preview is of what the form says, and new enough. */
  readonly isCurrent: boolean;
  readonly isOld: boolean;
  readonly isLoading: boolean;
  readonly reload: () => void;
  /** Whether it was refused because another changed the object after the preview. */
  readonly wasOvertaken: boolean;
  /** Why the last try failed. */
  readonly error: Error | null;
  /** Whether a try was not answered, so that only the same is sent again. */
  readonly isUnknown: boolean;
  readonly isBusy: boolean;
  readonly isReady: boolean;
  readonly perform: () => void;
}

/** Returns the act. */
export function useAct<I extends DescMessage, O extends DescMessage, P extends DescMessage>({
  method,
  request,
  preview,
  done,
}: ActOptions<I, O, P>): Act<P> {
  const transport = useTransport();
  const queries = useQueryClient();
  const [key] = useState(() => crypto.randomUUID());
  const [reason, setReason] = useState("");
  const [unanswered, setUnanswered] = useState<MessageShape<I> | null>(null);
  const previewing = usePreview(preview, request, unanswered !== null);
  const takesReason = "reason" in method.input.field;
  const mutation = useMutation({
    // A secret of an answer stays nowhere but in the drawer that shows it.
    gcTime: 0,
    mutationFn: (message: MessageShape<I>) => {
      const headers = { "Idempotency-Key": key };
      const wanted = message as MessageInitShape<I>;
      return transport.unary(method, undefined, undefined, headers, wanted);
    },
    onError: (error, message) => {
      setUnanswered(isOpen(error) ? message : null);
      // What the preview is compared with has changed too.
      if (isOvertaken(error)) void queries.invalidateQueries();
    },
    onSuccess: async (answer, message) => {
      const { words, differences = [], leave } = done(answer.message, previewing.data);
      const path = await leave();
      noteDone({
        words,
        differences: preview === undefined ? null : differences,
        requestId: answer.header.get("request-id"),
        curl: curlOf(method, message, key),
        path,
      });
      announce(`Done: ${words}`);
      await queries.invalidateQueries();
      focusNewest();
    },
  });
  const isComplete = request !== null && (!takesReason || reason.trim() !== "");
  const perform = () => {
    if (mutation.isPending || request === null) return;
    const { previewedState } = Object(previewing.data) as { previewedState?: string };
    const added = { ...(takesReason && { reason: reason.trim() }), previewedState };
    const wanted = { ...request, ...added } as MessageInitShape<I>;
    mutation.mutate(unanswered ?? create(method.input, wanted));
  };
  return {
    reason: takesReason ? reason : null,
    setReason,
    hasPreview: preview !== undefined,
    preview: previewing.data,
    previewError: previewing.error,
    isCurrent: previewing.isCurrent,
    isOld: previewing.isOld,
    isLoading: previewing.isLoading,
    reload: previewing.reload,
    wasOvertaken: isOvertaken(mutation.error),
    error: isSignedOut(mutation.error) || isOvertaken(mutation.error) ? null : mutation.error,
    isUnknown: unanswered !== null,
    isBusy: mutation.isPending,
    isReady: unanswered !== null || (isComplete && (previewing.isCurrent || !preview)),
    perform,
  };
}

/** Whether the request may have been done, or is being done. */
function isOpen(error: unknown): boolean {
  const { isUnknown, code } = failureOf(error, true);
  return isUnknown || code === "request_in_progress";
}

/** Whether another changed the object after the preview. */
function isOvertaken(error: unknown): boolean {
  if (error === null) return false;
  const { code, message } = failureOf(error, true);
  return code === "invalid_state" && message.includes("since the preview");
}
