/** What a person reads of the preview of a switch of Setup Mode. */
import type { Work } from "../noun.ts";
import { layText, wrap } from "../output/document.ts";
import type { Json } from "../output/message-json.ts";
import { counted } from "../output/words.ts";

/** Returns the lines of the preview: a sentence, what is billed before it, and its effects. */
export function setupModeLines(json: Json, { terminal, request }: Work): readonly string[] {
  const { changed, effects, due_subscriptions: due, unbilled_subscriptions: unbilled } = json;
  const to = request.setup_mode === true ? "on" : "off";
  const { columns = Number.POSITIVE_INFINITY } = terminal;
  return [
    ...layText(
      terminal,
      `${changed === true ? `Setup Mode is turned ${to}` : `Setup Mode is ${to} already`}. ` +
        "Nothing is changed by this preview.",
    ),
    ...(changed === true
      ? [
          "",
          ...layText(
            terminal,
            due === 0
              ? "Nothing is due, so nothing is billed before it."
              : `What is due of ${counted(due, "subscription")} is billed before it.`,
          ),
        ]
      : []),
    ...(unbilled === 0
      ? []
      : layText(
          terminal,
          `The current period of ${counted(unbilled, "running subscription")} began in Setup ` +
            "Mode, so nothing more of it is billed.",
        )),
    ...(Array.isArray(effects) && effects.length > 0 ? ["", "From then on:"] : []),
    ...(Array.isArray(effects) ? effects : []).flatMap((effect) =>
      wrap(String(effect), columns, "  ", "    "),
    ),
  ];
}
