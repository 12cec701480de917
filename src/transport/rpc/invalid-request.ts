/** A request that breaks rules of its fields, and the search for all of them. */
import { Refusal } from "../../domain/refusal.ts";

/** What is wrong with a field. `field` is its path, empty for the whole request. */
export interface FieldFault {
  readonly field: string;
  readonly description: string;
}

/**
 * An `invalid_parameter` at the first fault. REST shows that one, so the others are searched only
 * if a protocol asks for them (REQUEST-17).
 */
export class InvalidRequest extends Refusal {
  readonly allFaults: () => readonly FieldFault[];

  constructor(message: string, param: string | null, allFaults: () => readonly FieldFault[]) {
    super("invalid_parameter", message, param);
    this.allFaults = allFaults;
  }
}
