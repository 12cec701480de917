/** A page of a list: rows of one height, with newer and older. No total is invented. */
import { Button } from "@mantine/core";
import { Link, type LinkProps, useNavigate, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { type ListAnswer, pageSize } from "../../data/list.ts";
import { announce } from "../../shell/announcer.tsx";
import { Icon } from "../icons.tsx";
import { ErrorState } from "../page/error-state.tsx";
import styles from "./table.module.css";

/** A column: its heading, and what it shows of a row. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
  /** Where it is left out: below 1,100 px, or on a phone, where `under` is in the first column. */
  readonly from?: "tablet" | "desktop" | "under";
}

/** A list and how its rows are shown. */
interface KeysetTableProps<Row> {
  /** Names the table for screen readers: `Subscriptions`. */
  readonly name: string;
  readonly list: ListAnswer<Row>;
  readonly columns: readonly Column<Row>[];
  readonly idOf: (row: Row) => string;
  /** The page of a row. The first column becomes its link. */
  readonly to?: (row: Row) => LinkProps;
  /** Where all of it is listed, if not here. Null: nowhere. The address has no place in it then. */
  readonly all?: LinkProps | null;
  /** What stands in place of an empty table. */
  readonly empty: ReactNode;
}

/** Shows one page of a list. Its place in the list is `after` of the address. */
export function KeysetTable<Row>(props: KeysetTableProps<Row>) {
  const { name, list, columns, idOf, to, all, empty } = props;
  const { data, error, isPlaceholderData } = list;
  const rows = data?.data;
  useEffect(() => {
    if (isPlaceholderData) announce(`Loading ${name}`);
    else if (rows) announce(`${name}: ${rows.length} shown`);
  }, [isPlaceholderData, rows, name]);
  if (error) return <ErrorState error={error} onAgain={() => void list.refetch()} />;
  if (rows?.length === 0 && !isPlaceholderData) return empty;
  return (
    <>
      <div className={styles.frame}>
        <table className={styles.table} aria-busy={rows === undefined || isPlaceholderData}>
          <caption className="unseen">{name}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.title} scope="col" className={classOf(column)}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className={isPlaceholderData ? styles.old : undefined}>
            {rows?.map((row) => (
              <tr key={idOf(row)}>
                {columns.map((column, index) => (
                  <td key={column.title} className={classOf(column)}>
                    {index === 0 && to ? (
                      <Link {...to(row)} data-row-link className={styles.link}>
                        {column.cell(row)}
                      </Link>
                    ) : (
                      column.cell(row)
                    )}
                    {index === 0 &&
                      columns.filter(isUnder).map(({ title, cell }) => (
                        <div key={title} className={styles.underFirst}>
                          {cell(row)}
                        </div>
                      ))}
                  </td>
                ))}
              </tr>
            )) ?? <Bones columns={columns} />}
          </tbody>
        </table>
      </div>
      {all === undefined ? <Steps list={list} idOf={idOf} /> : <OfAll list={list} all={all} />}
    </>
  );
}

const isUnder = ({ from }: { readonly from?: string }) => from === "under";

function classOf<Row>({ isNumber, from }: Column<Row>): string {
  return [isNumber && styles.numeric, from && styles[from]].filter(Boolean).join(" ");
}

/** Rows of the height that the rows will have. */
function Bones<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return Array.from({ length: 8 }, (_, row) => (
    <tr key={String(row)}>
      {columns.map((column, index) => (
        <td key={column.title} className={classOf(column)}>
          <i className={styles.bone} style={{ width: `${index === 0 ? 60 : 40}%` }} />
        </td>
      ))}
    </tr>
  ));
}

/** Says that there are more than are shown. */
function OfAll<Row>({
  list,
  all,
}: Pick<KeysetTableProps<Row>, "list"> & { all: LinkProps | null }) {
  if (!list.data?.hasMore) return null;
  return (
    <div className={styles.steps}>
      <span className="muted">{list.data.data.length} shown, more exist</span>
      {all && <Link {...all}>All of them</Link>}
    </div>
  );
}

/** Newer and older. What the address says survives a reload. */
function Steps<Row>({
  list,
  idOf,
}: {
  readonly list: ListAnswer<Row>;
  readonly idOf: (row: Row) => string;
}) {
  const navigate = useNavigate();
  const { search, state } = useRouterState({ select: ({ location }) => location });
  const { after } = search as { after?: string };
  const rows = list.data?.data;
  const last = rows?.at(-1);
  const hasOlder = list.data?.hasMore === true && last !== undefined;
  if (rows === undefined || (after === undefined && !hasOlder)) return null;
  const go = (to: string | undefined) =>
    void navigate({
      to: ".",
      search: (old: Record<string, unknown>) => ({ ...old, after: to }),
      state: (old) => ({ ...old, hasNewer: to !== undefined }),
    });
  const newer = () => ("hasNewer" in state && state.hasNewer ? history.back() : go(undefined));
  return (
    <div className={styles.steps}>
      <span className="muted">
        {rows.length} shown{hasOlder ? ", more exist" : ""}
        {rows.length < pageSize && !hasOlder ? ", these are the oldest" : ""}
      </span>
      <span className={styles.stepButtons}>
        <Button
          variant="default"
          disabled={after === undefined}
          onClick={newer}
          leftSection={<Icon name="newer" size={14} />}
        >
          Newer
        </Button>
        <Button
          variant="default"
          disabled={!hasOlder}
          onClick={() => last && go(idOf(last))}
          rightSection={<Icon name="older" size={14} />}
        >
          Older
        </Button>
      </span>
    </div>
  );
}
