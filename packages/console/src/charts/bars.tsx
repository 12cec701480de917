/** Bars over time: each a stack of kinds, with a table of the same figures for readers. */
import { useElementSize } from "@mantine/hooks";
import { Link, type LinkProps } from "@tanstack/react-router";
import { grouped } from "../design/values/money.tsx";
import styles from "./charts.module.css";
import { linearScale } from "./scale.ts";

/** A kind of a stack, with the class of its colour. */
export interface BarKind {
  readonly label: string;
  readonly tone: "accent" | "ok" | "bad";
}

/** A bar: its name, and the figure of each kind. */
export interface Bar {
  readonly name: string;
  readonly figures: readonly number[];
  readonly isNow?: boolean;
  /** The list that proves each figure. Figures that share one are one link. */
  readonly lists?: readonly LinkProps[];
}

const size = { height: 168, left: 44, right: 4, top: 8, bottom: 22 };

/** Draws the bars. `ends` names the first and the last. Bars with an address are links. */
export function Bars({
  title,
  kinds,
  bars,
  ends,
}: {
  readonly title: string;
  readonly kinds: readonly BarKind[];
  readonly bars: readonly Bar[];
  readonly ends: readonly [string, string];
}) {
  const { ref, width: measured } = useElementSize<HTMLDivElement>();
  const width = Math.max(measured, 240);
  const sumOf = ({ figures }: Bar) => figures.reduce((sum, figure) => sum + figure, 0);
  const top = Math.max(...bars.map(sumOf), 1);
  const y = linearScale(top, [size.height - size.bottom, size.top], 3, true);
  const step = (width - size.left - size.right) / Math.max(bars.length, 1);
  const isWhole = (tick: number) => Number.isInteger(tick);
  const hasLinks = bars.some(({ lists }) => lists !== undefined);
  return (
    <figure className={styles.chart}>
      <div ref={ref}>
        <svg width={width} height={size.height} aria-hidden={!hasLinks}>
          <title>{title}</title>
          {y.marks.filter(isWhole).map((tick) => (
            <g key={tick}>
              <line className={styles.grid} x1={size.left} x2={width} y1={y(tick)} y2={y(tick)} />
              <text className={styles.label} x={size.left - 8} y={y(tick) + 4} textAnchor="end">
                {grouped(tick)}
              </text>
            </g>
          ))}
          {bars.map((bar, index) => (
            <Stack
              key={bar.name}
              bar={bar}
              kinds={kinds}
              y={y}
              at={size.left + index * step}
              step={step}
            />
          ))}
          <text className={styles.label} x={size.left} y={size.height - 4}>
            {ends[0]}
          </text>
          <text
            className={styles.label}
            x={width - size.right}
            y={size.height - 4}
            textAnchor="end"
          >
            {ends[1]}
          </text>
        </svg>
      </div>
      <ul className={styles.legend}>
        {kinds.map(({ label, tone }) => (
          <li key={label}>
            <i className={styles[tone]} /> {label}
          </li>
        ))}
      </ul>
      {!hasLinks && (
        <table className="unseen">
          <caption>{title}</caption>
          <tbody>
            {bars
              .filter((bar) => sumOf(bar) > 0)
              .map(({ name, figures }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  {figures.map((figure, index) => (
                    <td key={kinds[index]?.label}>
                      {kinds[index]?.label}: {grouped(figure)}
                    </td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      )}
    </figure>
  );
}

interface StackProps {
  readonly bar: Bar;
  readonly kinds: readonly BarKind[];
  readonly y: (value: number) => number;
  readonly at: number;
  readonly step: number;
}

function Stack({ bar, kinds, y, at, step }: StackProps) {
  const { name, figures, isNow = false, lists = [] } = bar;
  const inset = Math.min(1, step / 6);
  const foot = size.height - size.bottom;
  let below = 0;
  const parts = figures.map((figure, index) => {
    const from = below;
    below += figure;
    return { figure, list: lists[index], kind: kinds[index], from, to: below };
  });
  // A day of one list is a link wherever one points at it. Another one is so at its parts.
  const shown = parts.filter(({ figure }) => figure > 0);
  const links = [...new Set(shown.map(({ list }) => list))];
  return (
    <>
      {(links.length > 0 ? links : [undefined]).map((link) => {
        const some = links.length > 1 ? shown.filter(({ list }) => list === link) : parts;
        const said = some.map(({ kind, figure }) => `${kind?.label}: ${grouped(figure)}`);
        const words = `${name}. ${said.join(", ")}`;
        const drawn = (
          <>
            <title>{words}</title>
            {links.length < 2 && (
              <rect
                className={styles.room}
                x={at}
                y={size.top}
                width={step}
                height={foot - size.top}
              />
            )}
            {some
              .filter(({ figure }) => figure > 0)
              .map(({ kind, from, to }) => (
                <rect
                  key={kind?.label}
                  className={styles[kind?.tone ?? "accent"]}
                  x={at + inset}
                  width={Math.max(step - 2 * inset, 1)}
                  y={y(to)}
                  height={Math.max(y(from) - y(to), 1)}
                />
              ))}
          </>
        );
        return link === undefined ? (
          <g key={words}>{drawn}</g>
        ) : (
          <Link key={words} {...link} aria-label={words} className={styles.bar}>
            {drawn}
          </Link>
        );
      })}
      {isNow && <line className={styles.cursor} x1={at} x2={at} y1={size.top} y2={foot} />}
    </>
  );
}
