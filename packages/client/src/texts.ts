/** Texts that have one form, and the events of all kinds. */

/**
 * An exact decimal as text, with four places: `"19.9900"`. A JavaScript number would lose digits,
 * so neither the service nor this client makes one of it. Reckon with a library of decimals, or in
 * whole ten thousandths: `BigInt(text.replace(".", ""))`. Texts do not compare as amounts do.
 */
export type DecimalText = `${number}`;

/** A day without a time: `"2026-03-01"`. Of a subscription it is a day in its `timezone`. */
export type DateText = `${number}-${number}-${number}`;

/** An instant in UTC: `"2026-03-01T12:00:00.000Z"`. `new Date(text)` reads it. */
export type TimestampText = `${DateText}T${string}Z`;

/**
 * The events of all kinds. `type` says the kind, and thereby what `data.object` is. A later version
 * may add kinds, so ignore those that you do not know.
 */
export type EventOf<Objects, Members> = {
  [Type in keyof Objects]: Omit<Members, "type" | "data"> & {
    /** What happened. */
    type: Type;
    /** What it happened to. */
    data: {
      /** The object as its retrieval answers it. */
      object: Objects[Type];
      /** The previous values of the members that changed. `null` for a new object. */
      previous_attributes: Partial<Objects[Type]> | null;
    };
  };
}[keyof Objects];
