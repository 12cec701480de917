/**
 * The meaning of the contract's text formats. They are validated with the rest of the body, before
 * any idempotency key (REQUEST-1).
 */
import { isTimezone, parseCivilDate } from "../domain/calendar/civil-date.ts";
import { readTimestamp } from "../domain/usage/parse.ts";
import { TextFormat } from "../gen/proto/billing/options/v1/options_pb.ts";
import type { TextFormats } from "../transport/rpc/validation/string-rules.ts";

/** A character that leaves a mark: no blank, control, direction or other invisible one. */
const visible = /[^\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * A date must be a real day, a zone must be in the time zone database, and a timestamp must be one
 * instant. A reason says something to the readers of the audit log (ADMIN-13).
 */
export const textFormats: TextFormats = new Map([
  [
    TextFormat.CIVIL_DATE,
    {
      holds: (text: string) => parseCivilDate(text) !== null,
      must: "must be a day of the calendar, YYYY-MM-DD",
    },
  ],
  [
    TextFormat.TIMEZONE,
    { holds: isTimezone, must: "must be the name of an IANA time zone, such as Europe/Paris" },
  ],
  [
    TextFormat.TIMESTAMP,
    {
      holds: (text: string) => readTimestamp(text) !== null,
      must: "must be a time of the calendar with seconds and offset, such as 2026-03-05T10:15:00Z",
    },
  ],
  [
    TextFormat.REASON,
    {
      holds: (text: string) => visible.test(text),
      must: "must say why: it has no visible character",
    },
  ],
]);
