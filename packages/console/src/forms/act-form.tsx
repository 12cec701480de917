/** The drawer of an act with its form. It is loaded when the first act is opened. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Portal } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { ActDrawer } from "../act/drawer.tsx";
import { useAct } from "../act/use-act.ts";
import { failureOf } from "../data/failure.ts";
import type { ActProps, Typed } from "./act.tsx";
import { Fields, initialValues, isFilled } from "./fields.tsx";
import { Outcome } from "./outcome.tsx";

interface ActFormProps<I extends DescMessage, O extends DescMessage, P extends DescMessage>
  extends ActProps<I, O, P> {
  readonly onClose: () => void;
}

/** Exists while the drawer is open, so that nothing of it remains afterwards. */
export function ActForm<I extends DescMessage, O extends DescMessage, P extends DescMessage>(
  props: ActFormProps<I, O, P>,
) {
  const { title, method, fields = [], request, effect, about, typed, children } = props;
  const { preview, shown, done, result, onDone, onClose, isDangerous = false } = props;
  const [values, setValues] = useState(() => initialValues(fields));
  const [answer, setAnswer] = useState<MessageShape<O>>();
  const closed = useClosed();
  const act = useAct({
    method,
    request: isFilled(fields, values) ? request(values) : null,
    ...(preview && { preview }),
    done: (came) => ({
      words: typeof done === "string" ? done : done(came),
      leave: async () => {
        await onDone?.(came);
        if (result === undefined) onClose();
        else {
          setAnswer(came);
          await closed.current;
        }
        return globalThis.location.pathname;
      },
    }),
  });
  const onType = (name: string, value: string) => setValues((old) => ({ ...old, [name]: value }));
  const fault = faultOf(act.error);
  if (answer !== undefined && result !== undefined)
    return (
      <Portal>
        <Outcome title={title} onClose={onClose}>
          {result(answer)}
        </Outcome>
      </Portal>
    );
  return (
    <Portal>
      <ActDrawer
        act={act}
        title={title}
        about={about}
        effect={typeof effect === "string" ? effect : effect(values)}
        isDangerous={isDangerous}
        {...(typed && { typed })}
        onClose={onClose}
        shown={act.preview && shown?.(act.preview)}
      >
        <Fields fields={fields} values={values} onType={onType} fault={fault} />
        {children?.({ values, onType, fault })}
      </ActDrawer>
    </Portal>
  );
}

/**
 * Resolves once the drawer is closed. The page is not read again before: what it says then may have
 * no place for the act, such as a step that is done, and the result would go with it.
 */
function useClosed(): { readonly current: Promise<void> | undefined } {
  const closed = useRef<Promise<void>>(undefined);
  useEffect(() => {
    const { promise, resolve } = Promise.withResolvers<void>();
    closed.current = promise;
    return resolve;
  }, []);
  return closed;
}

function faultOf(error: unknown): Typed["fault"] {
  if (error === null) return undefined;
  const { param, message } = failureOf(error, true);
  return param === undefined ? undefined : { name: param, message };
}
