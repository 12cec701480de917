/** The filters of a list. Each is a member of the address, and a chip while it is set. */
import { TextInput } from "@mantine/core";
import { type LinkProps, useNavigate, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Icon } from "../icons.tsx";
import { later } from "../later.tsx";
import { Dropdown } from "../page/dropdown.tsx";
import { EmptyState } from "../page/empty-state.tsx";
import { LinkTabs } from "../page/link-tabs.tsx";
import { DateFilters, type DateRange, filtersOfRange } from "./date-filters.tsx";
import styles from "./table.module.css";

/** A filter that is typed: its name in the address, and in words. */
export interface TypedFilter {
  readonly key: string;
  readonly label: string;
  /** What a text without a name sets, if it looks like this. The last filter takes the rest. */
  readonly looksLike?: RegExp;
  /** What its chip shows of the value. */
  readonly shown?: (value: string) => ReactNode;
}

/** The choices of the filter by state, as tabs. */
export interface StateTabs {
  readonly key: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
  /** What the list has without a choice. */
  readonly all?: string;
}

/** The members of an address. */
export type Search = Readonly<Record<string, string | undefined>>;

function useSearchText(): Search {
  return useRouterState({ select: ({ location }) => location.search as Search });
}

/** Tabs by state, fields for the others, and a chip for each that is set. */
export function Filters({
  tabs,
  typed,
  dates = [],
  children,
}: {
  readonly tabs?: StateTabs;
  readonly typed: readonly TypedFilter[];
  readonly dates?: readonly DateRange[];
  readonly children?: ReactNode;
}) {
  const search = useSearchText();
  const navigate = useNavigate();
  const set = (members: Search) =>
    void navigate({
      to: ".",
      search: (old: Search) => ({ ...old, ...members, after: undefined }),
    });
  const chips = [...typed, ...dates.flatMap(filtersOfRange)].flatMap((filter) => {
    const { [filter.key]: value } = search;
    return value === undefined ? [] : [{ ...filter, value }];
  });
  return (
    <>
      {tabs && <FilterTabs tabs={tabs} current={search[tabs.key]} />}
      <div className={styles.filters}>
        {typed.length > 0 && <FilterField typed={typed} onSet={set} />}
        {dates.length > 0 && <DateFilters ranges={dates} search={search} onSet={set} />}
        {children}
        <SavedViews search={search} />
        {chips.map(({ key, label, value, shown }) => (
          <span key={key} className={styles.chip}>
            {label}: {shown ? shown(value) : value}
            <button
              type="button"
              aria-label={`Remove the filter by ${label}`}
              onClick={() => set({ [key]: undefined })}
            >
              <Icon name="close" size={12} />
            </button>
          </span>
        ))}
      </div>
    </>
  );
}

const Views = later(async () => (await import("./views.tsx")).Views);

/** The saved views, of a list that has an address by itself in an organisation. */
function SavedViews({ search }: { readonly search: Search }) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [, page] = /^\/o\/[^/]+\/([a-z-]+)$/.exec(path) ?? [];
  if (page === undefined) return null;
  return (
    <Dropdown
      className={styles.button}
      button={
        <>
          <Icon name="down" size={14} /> Views
        </>
      }
    >
      {(close) => <Views page={page} search={search} onChosen={close} />}
    </Dropdown>
  );
}

function FilterTabs({
  tabs: { key, choices, all: every = "All" },
  current,
}: {
  tabs: StateTabs;
  current?: string;
}) {
  const all = [[undefined, every] as const, ...choices];
  const to = (value: string | undefined): LinkProps => ({
    to: ".",
    search: ((old: Search) => ({ ...old, [key]: value, after: undefined })) as LinkProps["search"],
  });
  const tabs = all.map(([value, label]) => ({
    label,
    to: to(value),
    isCurrent: value === current,
  }));
  return <LinkTabs name="By state" tabs={tabs} />;
}

/** Takes `key:value`, or a value whose look says which filter it is for. */
function FilterField({
  typed,
  onSet,
}: {
  readonly typed: readonly TypedFilter[];
  readonly onSet: (members: Search) => void;
}) {
  const [text, setText] = useState("");
  const submit = () => {
    const value = text.trim();
    if (value === "") return;
    onSet(filterOf(value, typed));
    setText("");
  };
  const names = typed.map(({ label }) => label).toReversed();
  return (
    <form
      className={styles.words}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextInput
        size="sm"
        data-filter-field
        aria-label={`Filter by ${names.join(", ")}`}
        placeholder={`Filter by ${names.slice(0, 2).join(", ")} …`}
        leftSection={<Icon name="search" />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}

/** Returns the member of the address that a typed text sets. */
export function filterOf(text: string, typed: readonly TypedFilter[]): Search {
  const [, name, rest] = /^([\w ]+):\s*(.+)$/.exec(text) ?? [];
  const named = typed.find(({ key, label }) =>
    [key, label].some((each) => each.toLowerCase() === name?.toLowerCase()),
  );
  if (named !== undefined) return { [named.key]: rest };
  const alike = typed.find(({ looksLike }) => looksLike?.test(text)) ?? typed.at(-1);
  return alike === undefined ? {} : { [alike.key]: text };
}

/** What stands in place of an empty list: its own words, or that the filters match nothing. */
export function EmptyList({
  filters,
  children,
}: {
  readonly filters: readonly string[];
  readonly children: ReactNode;
}) {
  const search = useSearchText();
  const navigate = useNavigate();
  if (![...filters, "after"].some((key) => search[key] !== undefined)) return children;
  const none = Object.fromEntries(filters.map((key) => [key, undefined]));
  return (
    <EmptyState
      title="Nothing matches these filters"
      act={
        <button
          type="button"
          className={styles.clear}
          onClick={() =>
            void navigate({
              to: ".",
              search: (old: Search) => ({ ...old, ...none, after: undefined }),
            })
          }
        >
          Clear the filters
        </button>
      }
    />
  );
}
