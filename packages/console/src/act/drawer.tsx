/**
 * The drawer of an act: the form above, the preview below, and a button that says the effect. It is
 * no modal: the page beside it can be read.
 */
import { CloseButton, TextInput } from "@mantine/core";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import styles from "./act.module.css";
import { ActButton, ActPreview, ReasonField } from "./parts.tsx";
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
  const frame = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useOpened(frame);
  const isConfirmed = typed === undefined || typedText.trim() === typed.text;
  const isFixed = act.isUnknown || act.isBusy;
  return (
    <dialog
      open
      ref={frame}
      tabIndex={-1}
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
        <div className={styles.head}>
          <div>
            <h2 id={titleId}>{title}</h2>
            {about !== undefined && <p className={styles.about}>{about}</p>}
          </div>
          <CloseButton aria-label="Close" disabled={act.isBusy} onClick={onClose} />
        </div>
        <div className={styles.body}>
          <fieldset className={styles.fields} disabled={isFixed}>
            {children}
            <ReasonField act={act} />
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
          {act.hasPreview && <ActPreview act={act} effect={effect} shown={props.shown} />}
        </div>
        <div className={styles.foot} data-act-foot>
          <ActButton {...{ act, effect, isDangerous, isConfirmed }} />
        </div>
      </form>
    </dialog>
  );
}

/** Moves the focus into the drawer, and back to where it was. */
function useOpened(frame: React.RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const before = document.activeElement;
    const fields = "fieldset input:not([type=hidden]), fieldset select, fieldset textarea";
    const first = frame.current?.querySelector<HTMLElement>(
      `${fields}, [data-act-foot] button:enabled`,
    );
    // A drawer whose fields or preview are still being read has the focus itself.
    (first ?? frame.current)?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, [frame]);
}
