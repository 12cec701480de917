/** Holds JSON that another reader will read to the same strictness as REST's: Connect's library takes more than it should. */
import type { DescMessage } from "@bufbuild/protobuf";
import { compileReader } from "./read-json.ts";
import { RequestFault } from "./request-fault.ts";

/** Compiles the check of one message's JSON: it throws at the first fault, and says nothing where there is none. */
export type CompileJsonCheck = (message: DescMessage) => (body: Uint8Array) => void;

/**
 * Checks of protobuf's JSON mapping, as strict as REST: no number as text, no `null` but where documented, no member twice
 * or unknown. A fault is thrown as `refusalOf` tells it: `invalid_parameter`, the path as `param`. decisions §1, step 6.
 */
export function jsonCheck(refusalOf: (fault: RequestFault) => Error): CompileJsonCheck {
  return (message) => {
    const read = compileReader(message, [], "protobuf");
    return (body) => {
      try {
        read(body);
      } catch (error) {
        throw error instanceof RequestFault ? refusalOf(error) : error;
      }
    };
  };
}
