/**
 * Checks JSON for another reader as strictly as REST does, because Connect's library accepts too
 * much.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { compileReader } from "./read-json.ts";
import { RequestFault } from "./request-fault.ts";

/** A fault of a field, by its path. */
interface FieldFault {
  readonly field: string;
  readonly description: string;
}

/** Returns the error of a fault. `allFaults` finds every fault of the body, this one first. */
type RefusalOf = (fault: RequestFault, allFaults: () => readonly FieldFault[]) => Error;

/** Compiles the check of one message's JSON. The check throws at the first fault. */
type CompileJsonCheck = (message: DescMessage) => (body: Uint8Array) => void;

/**
 * Creates checks of protobuf's JSON mapping that are as strict as REST. A number as text, an
 * undocumented `null`, and a repeated or unknown member are faults. A fault is thrown as the error
 * of `refusalOf`: `invalid_parameter`, with the path as `param`. REQUEST-6, REQUEST-7, REQUEST-8.
 */
export function jsonCheck(refusalOf: RefusalOf): CompileJsonCheck {
  return (message) => {
    const read = compileReader(message, [], "protobuf");
    return (body) => {
      try {
        read(body);
      } catch (error) {
        throw error instanceof RequestFault ? refusalOf(error, () => fieldFaultsOf(error)) : error;
      }
    };
  };
}

function fieldFaultsOf(fault: RequestFault): readonly FieldFault[] {
  return fault
    .allFaults()
    .flatMap(({ param, message }) =>
      param === null ? [] : [{ field: param, description: message }],
    );
}
