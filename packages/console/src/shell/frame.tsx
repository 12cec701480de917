/** The frame around every page: navigation, head, marks of the mode, and the keyboard. */
import { useQuery } from "@connectrpc/connect-query";
import { ActionIcon, Drawer } from "@mantine/core";
import { Link, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useMayAct } from "../data/operator.tsx";
import { useOrganisationIfAny } from "../data/organisation.tsx";
import { Icon } from "../design/icons.tsx";
import { Instant } from "../design/values/instant.tsx";
import { AttentionService } from "../gen/billing/admin/v1/attention_pb.ts";
import { AccountMenu } from "./account-menu.tsx";
import styles from "./frame.module.css";
import { navigation } from "./navigation.ts";
import { OrganisationSwitch } from "./organisation-switch.tsx";
import { PaletteButton } from "./palette.tsx";
import { focusTitle } from "./title-focus.ts";

/** A page inside the frame. */
export function Frame({ children }: { readonly children: ReactNode }) {
  const organisation = useOrganisationIfAny();
  const [isOpen, setOpen] = useState(false);
  useFocusAfterNavigation(() => setOpen(false));
  return (
    <>
      <a className={styles.skip} href="#content">
        Skip to the content
      </a>
      {organisation && !organisation.livemode && <SandboxMark />}
      <div className={organisation ? styles.frame : styles.plain}>
        {organisation && (
          <div className={styles.side}>
            <Navigation id={organisation.id} />
          </div>
        )}
        <div className={styles.column}>
          <header className={styles.top}>
            {organisation && (
              <ActionIcon
                className={styles.menu}
                aria-label="Open the navigation"
                onClick={() => setOpen(true)}
              >
                <Icon name="menu" size={20} />
              </ActionIcon>
            )}
            <OrganisationSwitch />
            <span className={styles.space} />
            <ReadOnlyMark />
            {organisation && <PaletteButton />}
            <AccountMenu />
          </header>
          <main id="content" tabIndex={-1} className={styles.main}>
            {children}
          </main>
        </div>
      </div>
      {organisation && (
        <Drawer opened={isOpen} onClose={() => setOpen(false)} size={280} title="Pages">
          <Navigation id={organisation.id} />
        </Drawer>
      )}
    </>
  );
}

/** Moves the focus to the title after a navigation, as a browser does with a new page. */
function useFocusAfterNavigation(onNavigated: () => void): void {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    const isFirst = before.current === undefined;
    before.current = path;
    if (isFirst) return;
    onNavigated();
    focusTitle();
  });
}

function Navigation({ id }: { readonly id: string }) {
  return (
    <nav aria-label="Pages" className={styles.navigation}>
      {navigation.map(({ label, pages }) => (
        <div key={label} className={styles.group}>
          <h2 className={styles.groupLabel}>{label}</h2>
          <ul>
            {pages.map(({ path, label: name, icon }) => (
              <li key={path}>
                <Link
                  to={`/o/$organisation/${path}` as "/o/$organisation/subscriptions"}
                  params={{ organisation: id }}
                  className={styles.page}
                  title={name}
                  activeOptions={{ includeSearch: false }}
                >
                  <Icon name={icon} />
                  <span>{name}</span>
                  {path === "attention" && <AttentionBadge id={id} />}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** How many wait for a person. It is asked again and again, which is no use of the session. */
function AttentionBadge({ id }: { readonly id: string }) {
  const { data } = useQuery(
    AttentionService.method.countAttention,
    { organisation: id },
    { refetchInterval: 30_000 },
  );
  const count = data?.counts.reduce((sum, each) => sum + each.count, 0) ?? 0;
  return count === 0 ? null : <b className={styles.badge}>{count > 99 ? "99+" : count}</b>;
}

/** Says on every page that this is no real business, and what its clock shows. */
function SandboxMark() {
  const organisation = useOrganisationIfAny();
  const mayAct = useMayAct();
  if (organisation === null) return null;
  return (
    <aside className={styles.sandbox} aria-label="Mode">
      Sandbox. Its clock: <Instant at={organisation.now} />{" "}
      <Link to="/o/$organisation/organisation" params={{ organisation: organisation.id }}>
        {mayAct ? "Advance it" : "Show it"}
      </Link>
    </aside>
  );
}

function ReadOnlyMark() {
  if (useMayAct()) return null;
  return (
    <span className={styles.readOnly}>
      <Icon name="lock" size={14} /> You may read
    </span>
  );
}
