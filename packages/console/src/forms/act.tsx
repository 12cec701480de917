/** An act as data: a button, and the drawer with its fields, its preview, and what came of it. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useIsOwner, useMayAct } from "../data/operator.tsx";
import { later } from "../design/later.tsx";
import type { Field, Values } from "./fields.tsx";

/** How a form sees what is typed, and changes it. */
export interface Typed {
  readonly values: Values;
  readonly onType: (name: string, value: string) => void;
  readonly fault?: { readonly name: string; readonly message: string } | undefined;
}

const load = async () => (await import("./act-form.tsx")).ActForm;
const form = later(load);
// It takes the messages of any act, which `later` cannot say.
const ActForm = form as unknown as Awaited<ReturnType<typeof load>>;

/** What an act is. */
export interface ActProps<I extends DescMessage, O extends DescMessage, P extends DescMessage> {
  /** The words of the button that opens it. */
  readonly label: string;
  readonly title: string;
  readonly method: DescMethodUnary<I, O>;
  readonly fields?: readonly Field[];
  /** The request without its reason, or null while the form is incomplete. */
  readonly request: (values: Values) => MessageInitShape<I> | null;
  /** What the button in the drawer does. */
  readonly effect: string | ((values: Values) => string);
  /** What happens, in words. */
  readonly about?: ReactNode;
  readonly preview?: DescMethodUnary<DescMessage, P>;
  readonly shown?: (preview: MessageShape<P>) => ReactNode;
  /** What has to be typed, such as a customer's code. */
  readonly typed?: { readonly text: string; readonly what: string };
  /** Other inputs. */
  readonly children?: (typed: Typed) => ReactNode;
  /** What was done, in words. */
  readonly done: string | ((answer: MessageShape<O>) => string);
  /** What the drawer shows afterwards, such as a secret. It closes without. */
  readonly result?: (answer: MessageShape<O>) => ReactNode;
  readonly onDone?: (answer: MessageShape<O>) => void | Promise<void>;
  readonly isDangerous?: boolean;
  readonly isPrimary?: boolean;
  /** Whether it stands in a row of a table. */
  readonly isInRow?: boolean;
  /** Whether only owners may, or every operator. */
  readonly isOwners?: boolean;
  readonly isReaders?: boolean;
}

/** The button of an act, for whoever may do it. */
export function Act<I extends DescMessage, O extends DescMessage, P extends DescMessage>(
  props: ActProps<I, O, P>,
) {
  const { label, isDangerous = false, isPrimary = false, isOwners = false, isReaders } = props;
  const { isInRow = false } = props;
  const [isOpen, setOpen] = useState(false);
  const mayAct = useMayAct();
  const isOwner = useIsOwner();
  if (!(isReaders || (isOwners ? isOwner : mayAct))) return null;
  return (
    <>
      <Button
        variant={isPrimary ? "filled" : "default"}
        size={isInRow ? "compact-sm" : "sm"}
        {...(isDangerous && { color: "bad" })}
        onPointerEnter={() => void form.load()}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      {isOpen && <ActForm {...props} onClose={() => setOpen(false)} />}
    </>
  );
}
