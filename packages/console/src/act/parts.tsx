/** The parts of an act, in a drawer or on a page: its reason, its preview, and its button. */
import { Button, Textarea } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import { failureOf } from "../data/failure.ts";
import { ErrorState } from "../design/page/error-state.tsx";
import { Skeleton } from "../design/page/page.tsx";
import { announce } from "../shell/announcer.tsx";
import styles from "./act.module.css";
import type { Act } from "./use-act.ts";

/** The reason, if the act takes one. */
export function ReasonField({ act }: { readonly act: Act }) {
  if (act.reason === null) return null;
  return (
    <Textarea
      label="Reason"
      description="The audit log and the timeline show it."
      required
      withAsterisk={false}
      maxLength={500}
      rows={2}
      value={act.reason}
      onChange={(event) => act.setReason(event.currentTarget.value)}
    />
  );
}

/** The preview: grey while it is not of what the form says. */
export function ActPreview({
  act,
  effect,
  shown,
}: {
  readonly act: Act;
  readonly effect: string;
  readonly shown: ReactNode;
}) {
  const { isCurrent, isOld, isLoading, isUnknown, preview } = act;
  useEffect(() => {
    if (isCurrent) announce(`Preview: ${effect}`);
  }, [isCurrent, effect]);
  if (act.previewError)
    return (
      <section className={styles.preview} aria-label="Preview">
        <Refused act={act} />
      </section>
    );
  if (preview === undefined) return isLoading ? <Skeleton lines={5} /> : null;
  return (
    <section className={styles.preview} aria-label="Preview" aria-busy={isLoading}>
      {act.wasOvertaken && (
        <p className={styles.notice} role="alert">
          It was changed since the preview, so nothing was done. This is the preview of now: read
          it, then do it again.
        </p>
      )}
      {isOld && (
        <div className={styles.notice} role="status">
          This preview is older than a minute.
          <Button variant="default" onClick={act.reload}>
            Load again
          </Button>
        </div>
      )}
      <div className={isCurrent || isUnknown ? undefined : styles.stale}>{shown}</div>
    </section>
  );
}

/** Why there is no preview: a refusal in the service's words, or no answer. */
function Refused({ act: { previewError, reload } }: { readonly act: Act }) {
  const { code, message } = failureOf(previewError, false);
  if (code === undefined) return <ErrorState error={previewError} onAgain={reload} />;
  return (
    <p className={styles.notice} role="status">
      {message}
    </p>
  );
}

/** The button that says the effect, below what the last try met. */
export function ActButton({
  act,
  effect,
  isDangerous = false,
  isConfirmed = true,
}: {
  readonly act: Act;
  readonly effect: string;
  readonly isDangerous?: boolean;
  readonly isConfirmed?: boolean;
}) {
  return (
    <>
      {!act.isBusy && act.error !== null && <ErrorState error={act.error} isWrite />}
      {act.isCurrent && act.reason?.trim() === "" ? (
        <p className={styles.missing}>It needs a reason.</p>
      ) : (
        act.isReady &&
        !isConfirmed && <p className={styles.missing}>Type the text above to confirm it.</p>
      )}
      <Button
        type="submit"
        size="md"
        fullWidth
        color={isDangerous ? "bad" : undefined}
        loading={act.isBusy}
        disabled={!act.isReady || !isConfirmed}
      >
        {act.isUnknown ? `Try again: ${effect}` : effect}
      </Button>
    </>
  );
}
