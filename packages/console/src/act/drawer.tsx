/**
 * The drawer of an act: the form above, the preview below, and a button that says the effect. It is
 * no modal: the page beside it can be read.
 */
import { Button, CloseButton, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { ErrorState } from "../design/page/error-state.tsx";
import { Skeleton } from "../design/page/page.tsx";
import { announce } from "../shell/announcer.tsx";
import styles from "./act.module.css";
import type { Act } from "./use-act.ts";

/** What a drawer shows. */
interface ActDrawerProps {
  readonly act: Act;
  readonly title: string;
  /** What the act is on. */
  readonly about?: ReactNode;
  /** What the button says: the effect. */
  readonly effect: string;
  /** Whether something is removed that does not come back. */
  readonly isDangerous?: boolean;
  /** What has to be typed before: a text, and what it is. */
  readonly typed?: { readonly text: string; readonly what: string };
  readonly onClose: () => void;
  /** The fields. The first of them gets the focus. */
  readonly children?: ReactNode;
  /** The preview. */
  readonly shown?: ReactNode;
}

/** The drawer. */
export function ActDrawer(props: ActDrawerProps) {
  const { act, title, about, effect, isDangerous = false, typed, onClose, children } = props;
  const [typedText, setTypedText] = useState("");
  const frame = useRef<HTMLElement>(null);
  const titleId = useId();
  useOpened(frame);
  const isConfirmed = typed === undefined || typedText.trim() === typed.text;
  const isFixed = act.isUnknown || act.isBusy;
  return (
    <aside
      ref={frame}
      role="dialog"
      aria-labelledby={titleId}
      className={styles.drawer}
      data-act-drawer
      onKeyDown={(event) => event.key === "Escape" && !act.isBusy && onClose()}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (act.isReady && isConfirmed) act.perform();
        }}
      >
        <header className={styles.head}>
          <div>
            <h2 id={titleId}>{title}</h2>
            {about !== undefined && <p className={styles.about}>{about}</p>}
          </div>
          <CloseButton aria-label="Close" disabled={act.isBusy} onClick={onClose} />
        </header>
        <div className={styles.body}>
          <fieldset className={styles.fields} disabled={isFixed}>
            {children}
            {act.reason !== null && (
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
            )}
            {typed !== undefined && (
              <TextInput
                label={`To confirm, type the ${typed.what}: ${typed.text}`}
                autoComplete="off"
                spellCheck={false}
                value={typedText}
                onChange={(event) => setTypedText(event.currentTarget.value)}
              />
            )}
          </fieldset>
          {act.hasPreview && <Preview act={act} effect={effect} shown={props.shown} />}
        </div>
        <footer className={styles.foot}>
          <Trouble act={act} />
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
        </footer>
      </form>
    </aside>
  );
}

/** Moves the focus into the drawer, and back to where it was. */
function useOpened(frame: React.RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const before = document.activeElement;
    const fields = "fieldset input:not([type=hidden]), fieldset select, fieldset textarea";
    frame.current?.querySelector<HTMLElement>(`${fields}, footer button`)?.focus();
    return () => {
      const inside = frame.current === null || frame.current.contains(document.activeElement);
      if (inside && before instanceof HTMLElement) before.focus();
    };
  }, [frame]);
}

function Preview({
  act,
  effect,
  shown,
}: Pick<ActDrawerProps, "act" | "effect"> & { readonly shown: ReactNode }) {
  const { isCurrent, isOld, isLoading, previewError, preview } = act;
  useEffect(() => {
    if (isCurrent) announce(`Preview: ${effect}`);
  }, [isCurrent, effect]);
  if (previewError)
    return (
      <section className={styles.preview} aria-label="Preview">
        <ErrorState error={previewError} onAgain={act.reload} />
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
        <p className={styles.notice} role="status">
          This preview is older than a minute.{" "}
          <Button variant="default" onClick={act.reload}>
            Load again
          </Button>
        </p>
      )}
      <div className={isCurrent || act.isUnknown ? undefined : styles.stale}>{shown}</div>
    </section>
  );
}

function Trouble({ act }: { readonly act: Act }) {
  if (act.isBusy || act.error === null) return null;
  return <ErrorState error={act.error} isWrite />;
}
