/** Filters by days: from one and until one, each a member of the address. */
import { Icon } from "../icons.tsx";
import { dayText } from "../values/instant.tsx";
import type { Search, TypedFilter } from "./filters.tsx";
import styles from "./table.module.css";

/** A day of the rows. Its members of the address are `<key>_from` and `<key>_to`. */
export interface DateRange {
  readonly key: string;
  /** `Issued`. */
  readonly label: string;
}

/** The two filters of a range. */
export function filtersOfRange({ key, label }: DateRange): readonly TypedFilter[] {
  return [
    { key: `${key}_from`, label: `${label} from`, shown: dayText },
    { key: `${key}_to`, label: `${label} until`, shown: dayText },
  ];
}

/** A button that opens the fields of all ranges. */
export function DateFilters({
  ranges,
  search,
  onSet,
}: {
  readonly ranges: readonly DateRange[];
  readonly search: Search;
  readonly onSet: (members: Search) => void;
}) {
  return (
    <details className={styles.dates}>
      <summary>
        <Icon name="calendar" size={14} /> Days
      </summary>
      <div className={styles.days}>
        {ranges.flatMap(filtersOfRange).map(({ key, label }) => (
          <label key={key}>
            {label}
            <input
              type="date"
              defaultValue={search[key]}
              onChange={(event) => onSet({ [key]: event.currentTarget.value || undefined })}
            />
          </label>
        ))}
      </div>
    </details>
  );
}
