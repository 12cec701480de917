/** A failure: what is known, whether something was done, the request's id, and trying again. */
import { Button } from "@mantine/core";
import { failureOf } from "../../data/failure.ts";
import { Copyable } from "../values/copyable.tsx";
import styles from "./page.module.css";

/** The failure, and how to try again. */
interface ErrorStateProps {
  readonly error: unknown;
  readonly onAgain?: () => void;
  /** Whether the request could have changed something. */
  readonly isWrite?: boolean;
}

/** Says what failed. */
export function ErrorState({ error, onAgain, isWrite = false }: ErrorStateProps) {
  const { title, message, code, requestId, isUnknown } = failureOf(error, isWrite);
  const outcome = isUnknown
    ? "It is not known whether this was done. Look at the timeline before something else."
    : "Nothing was changed.";
  return (
    <div className={styles.error} role="alert">
      <p className={styles.fact}>{title}</p>
      <p>
        {message} {isWrite && outcome}
      </p>
      {requestId && (
        <p className="muted">
          {code} · request <Copyable text={requestId} what="request id" />
        </p>
      )}
      {onAgain && (
        <Button variant="default" onClick={onAgain}>
          Try again
        </Button>
      )}
    </div>
  );
}
