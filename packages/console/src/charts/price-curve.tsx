/** What a plan costs over its units, drawn by the code that prices it. */

import { useElementSize } from "@mantine/hooks";
import { useState } from "react";
import {
  describePrice,
  lineAmount,
  type PricedPlan,
} from "../../../../src/domain/catalogue/pricing/index.ts";
import { formatDecimal, ZERO } from "../../../../src/domain/money/decimal.ts";
import { amountText, grouped } from "../design/values/money.tsx";
import styles from "./charts.module.css";
import { linearScale, markText } from "./scale.ts";

/** What the curve needs of a plan. */
interface PriceCurveProps {
  readonly plan: PricedPlan & { readonly currency: string };
  /** The units up to which it is drawn. */
  readonly maxUnits: number;
  readonly unitWord: string;
}

const size = { height: 280, left: 64, right: 16, top: 12, bottom: 32 };

/** The units that are drawn: every one of few, some of many, and both sides of each step. */
function unitsToDraw({ tiers, freeUnits }: PricedPlan, maxUnits: number): readonly number[] {
  const steps = Math.min(maxUnits, 160);
  const even = Array.from({ length: steps + 1 }, (_, index) =>
    Math.round((index * maxUnits) / steps),
  );
  const edges = tiers.flatMap(({ upTo }) =>
    upTo === null ? [] : [upTo + freeUnits, upTo + freeUnits + 1],
  );
  const within = [...even, ...edges].filter((units) => units <= maxUnits);
  return [...new Set(within)].toSorted((a, b) => a - b);
}

/** The curve, with the arithmetic of the number under the pointer in words. */
export function PriceCurve({ plan, maxUnits, unitWord }: PriceCurveProps) {
  const { ref, width: measured } = useElementSize<HTMLDivElement>();
  const width = Math.max(measured, 240);
  const [chosen, setChosen] = useState(Math.min(maxUnits, Math.max(1, Math.round(maxUnits / 2))));
  const termsOf = (units: number) => ({ units, priceOverride: null, discountPercent: ZERO });
  const amountOf = (units: number) => formatDecimal(lineAmount(plan, termsOf(units)));
  const points = unitsToDraw(plan, maxUnits).map((units) => ({
    units,
    value: Number(amountOf(units)),
  }));
  const x = linearScale(maxUnits, [size.left, width - size.right], 6, false);
  const top = Math.max(...points.map(({ value }) => value), 1);
  const y = linearScale(top, [size.height - size.bottom, size.top], 4, true);
  const path = points.map(({ units, value }) => `${x(units)} ${y(value)}`).join("L");
  const at = { x: x(chosen), y: y(Number(amountOf(chosen))) };
  const isWhole = (tick: number) => Number.isInteger(tick);
  return (
    <figure className={styles.chart}>
      <div ref={ref}>
        <svg
          width={width}
          height={size.height}
          role="img"
          aria-label={`Price over ${unitWord}, from 0 to ${grouped(maxUnits)}`}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            const place = event.clientX - box.left - size.left;
            const units = (place * maxUnits) / (width - size.left - size.right);
            setChosen(Math.min(Math.max(Math.round(units), 0), maxUnits));
          }}
        >
          {y.marks.map((tick) => (
            <g key={tick}>
              <line
                className={styles.grid}
                x1={size.left}
                x2={width - size.right}
                y1={y(tick)}
                y2={y(tick)}
              />
              <text className={styles.label} x={size.left - 8} y={y(tick) + 4} textAnchor="end">
                {markText(tick)}
              </text>
            </g>
          ))}
          {x.marks.filter(isWhole).map((tick) => (
            <text
              key={tick}
              className={styles.label}
              x={x(tick)}
              y={size.height - 10}
              textAnchor="middle"
            >
              {markText(tick)}
            </text>
          ))}
          <path className={styles.line} d={`M${path}`} />
          <line
            className={styles.cursor}
            x1={at.x}
            x2={at.x}
            y1={size.top}
            y2={size.height - size.bottom}
          />
          <circle className={styles.point} cx={at.x} cy={at.y} r={5} />
        </svg>
      </div>
      <figcaption className={styles.answer}>
        <label>
          <input
            type="number"
            min={0}
            max={maxUnits}
            value={chosen}
            onChange={(event) =>
              setChosen(
                Math.min(Math.max(Math.trunc(Number(event.currentTarget.value)), 0), maxUnits),
              )
            }
          />{" "}
          {unitWord}
        </label>
        <span>
          <strong className="number">
            {plan.currency} {amountText(amountOf(chosen), plan.currency)}
          </strong>{" "}
          <span className="muted">= {describePrice(plan, termsOf(chosen)).description}</span>
        </span>
      </figcaption>
    </figure>
  );
}
