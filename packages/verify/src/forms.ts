/** The forms of parts, numbers and dates, and how one that is broken is told. */
import { parts, texts } from "./format.ts";
import { type Rational, rational } from "./rational.ts";

/** The first place that does not follow, and why. */
export class FollowError extends Error {
  readonly at: string;
  constructor(at: string, why: string) {
    super(why);
    this.at = at;
  }
}

/** Demands what follows or is a form. */
export function need(isSo: boolean, at: string, why: string): asserts isSo {
  if (!isSo) throw new FollowError(at, why);
}

/** The days since 1970 of a real day of the years 1 to 9999. */
export function day(date: string, at: string): number {
  const days = texts.date?.test(date) ? Date.parse(`${date}T00:00:00Z`) / 86_400_000 : Number.NaN;
  const isReal = days >= -719_162 && new Date(days * 86_400_000).toISOString().startsWith(date);
  need(isReal, at, "is not a day");
  return days;
}

/** A decimal of 0 or more. Its text is compared afterwards with the one text of the number. */
export function number(of: string, at: string): Rational {
  need(texts.decimal?.test(of) === true, at, "is not a number");
  const [units = "", places = ""] = of.split(".");
  return rational(BigInt(units + places), 10n ** BigInt(places.length));
}

/** Checks the form of a part and of everything in it. Returns how many members that has. */
export function checkForm(of: unknown, form: string, at: string): number {
  if (form.endsWith("|null")) return of === null ? 0 : checkForm(of, form.slice(0, -5), at);
  if (form.startsWith("[")) {
    need(Array.isArray(of), at, "is not a list");
    return of.reduce(
      (sum, one, at_) => sum + checkForm(one, form.slice(1, -1), `${at}[${at_}]`),
      0,
    );
  }
  const [part, isText] = [parts[form], texts[form]];
  const isCount = form === "count" && Number.isSafeInteger(of) && Number(of) >= 0;
  const isPlain = isCount || (form === "yes" && of === true);
  const isPart = part !== undefined && Object(of) === of && !Array.isArray(of);
  const isSo = isPlain || isPart || (typeof of === "string" && isText?.test(of) === true);
  need(isSo, at, `is no ${form}`);
  const known = (part ?? "").split(/\s+/).map((member) => member.split(":"));
  const found = isPart ? Object.keys(Object(of)) : [];
  for (const name of found)
    need(
      known.some(([one]) => one === name || one === `${name}?`),
      `${at}.${name}`,
      "is not known",
    );
  return known.reduce((sum, [one = "", its = ""]) => {
    const name = one.replace("?", "");
    const isLeftOut = !isPart || (one.endsWith("?") && !found.includes(name));
    return isLeftOut ? sum : sum + 1 + checkForm(Object(of)[name], its, `${at}.${name}`);
  }, 0);
}
