/** Which work delays the switch of Setup Mode. SETUP-4. */
import { Refusal } from "../refusal.ts";

/** Work under way that was decided in the current mode. `name` is its subscription or document. */
export interface SwitchObstacle {
  readonly kind: keyof typeof introductions;
  readonly name: string;
}

/** The first obstacles, ordered by kind and name, and the number of all. */
export interface SwitchObstacles {
  readonly named: readonly SwitchObstacle[];
  readonly total: number;
}

/** The text before the names of each kind, in the order in which the kinds are listed. */
const introductions = {
  parked: "Due, and parked",
  ended: "Being ended",
  amended: "Being amended in the ledger",
  unsent: "Still to be sent to the ledger",
  credited: "With credit that is being allocated in the ledger",
} as const;

/** Refuses `invalid_state` while any work blocks the switch. The text names the obstacles. */
export function requireNothingInTheWay({ named, total }: SwitchObstacles): void {
  if (total === 0) return;
  const kinds = Object.keys(introductions) as SwitchObstacle["kind"][];
  const lists = kinds.flatMap((kind) => {
    const names = named.filter((one) => one.kind === kind).map(({ name }) => name);
    return names.length === 0 ? [] : [`${introductions[kind]}: ${names.join(", ")}.`];
  });
  const unnamed = total - named.length;
  const rest = unnamed === 0 ? [] : [`${unnamed} more of ${total}.`];
  const message = ["Setup Mode cannot be switched before this is done.", ...lists, ...rest].join(
    " ",
  );
  const isParked = named.some(({ kind }) => kind === "parked");
  const advice = isParked
    ? "Retry what is parked, and try again then."
    : "Try again once it is done.";
  throw new Refusal("invalid_state", `${message} ${advice}`);
}
