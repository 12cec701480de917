/** Says on the page what was done there last: as previewed or not, and how to do it again. */
import { Button, CloseButton } from "@mantine/core";
import { Copyable } from "../design/values/copyable.tsx";
import { announce } from "../shell/announcer.tsx";
import styles from "./act.module.css";
import { type DoneAct, noteDone } from "./last-act.ts";

/** What was done last. */
export function LastActNote({ done }: { readonly done: DoneAct }) {
  const { words, differences, requestId, curl } = done;
  const copy = async () => {
    await navigator.clipboard.writeText(curl);
    announce("Command copied");
  };
  const differs = differences !== null && differences.length > 0;
  return (
    <section
      className={styles.done}
      data-last-act
      data-differs={differs || undefined}
      aria-label="What was done"
    >
      <div className={styles.doneHead}>
        <div>
          <strong>Done: {words}</strong>
          {differs ? (
            <>
              <p>It came otherwise than previewed:</p>
              <ul>
                {differences.map((each) => (
                  <li key={each}>{each}</li>
                ))}
              </ul>
            </>
          ) : (
            differences !== null && <p className="muted">All of it came as previewed.</p>
          )}
        </div>
        <CloseButton aria-label="Hide what was done" onClick={() => noteDone(null)} />
      </div>
      <div className={styles.doneMore}>
        {requestId !== null && (
          <span>
            request <Copyable text={requestId} what="request id" />
          </span>
        )}
        <Button variant="default" size="xs" onClick={() => void copy()}>
          Copy as curl
        </Button>
      </div>
    </section>
  );
}
