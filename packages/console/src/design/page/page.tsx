/** The frame of each page: title, what stands beside it, and sections. */
import { type ReactNode, useEffect } from "react";
import { useLastAct } from "../../act/last-act.ts";
import { useOrganisationIfAny } from "../../data/organisation.tsx";
import { focusAwaitedTitle } from "../../shell/title-focus.ts";
import { later } from "../later.tsx";
import styles from "./page.module.css";

/** What the head of a page shows. */
interface PageProps {
  /** The title, also of the window. */
  readonly title: string;
  /** What stands before the title, such as the customer of a subscription. */
  readonly above?: ReactNode;
  /** What stands after the title, such as a state. */
  readonly beside?: ReactNode;
  /** One sentence below the title. */
  readonly lead?: ReactNode;
  /** The acts of the page. */
  readonly acts?: ReactNode;
  readonly children: ReactNode;
}

/** A page of the console. */
export function Page({ title, above, beside, lead, acts, children }: PageProps) {
  useTitle(title);
  useEffect(focusAwaitedTitle, []);
  return (
    <>
      <header className={styles.head}>
        <div className={styles.titles}>
          {above !== undefined && <div className={styles.above}>{above}</div>}
          <div className={styles.title}>
            <h1 tabIndex={-1} id="title">
              {title}
            </h1>
            {beside}
          </div>
          {lead !== undefined && <p className={styles.lead}>{lead}</p>}
        </div>
        {acts !== undefined && <div className={styles.acts}>{acts}</div>}
      </header>
      <LastAct />
      {children}
    </>
  );
}

const LastActNote = later(async () => (await import("../../act/last-act-note.tsx")).LastActNote);

/** Says what was done last, if it was for this page. */
function LastAct() {
  const done = useLastAct();
  if (done === null || done.path !== globalThis.location.pathname) return null;
  return <LastActNote done={done} />;
}

/** Sets the title of the window. */
export function useTitle(title: string): void {
  const organisation = useOrganisationIfAny()?.name;
  useEffect(() => {
    document.title = [title, organisation, "Billing"].filter(Boolean).join(" · ");
  }, [title, organisation]);
}

/** A section of a page, with its heading. `isQuiet`: only readers of screens hear the heading. */
export function Section({
  title,
  beside,
  isQuiet = false,
  children,
}: {
  readonly title: string;
  readonly beside?: ReactNode;
  readonly isQuiet?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <section className={styles.section} aria-label={title}>
      <div className={isQuiet ? "unseen" : styles.sectionHead}>
        <h2>{title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}

/** A surface with a border. */
export function Card({ children }: { readonly children: ReactNode }) {
  return <div className={styles.card}>{children}</div>;
}

/** Places for what is still being read, of the height that it will have. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div className={styles.skeleton} aria-busy="true">
      <span className="unseen">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <i key={String(index)} style={{ width: `${90 - ((index * 17) % 45)}%` }} />
      ))}
    </div>
  );
}
