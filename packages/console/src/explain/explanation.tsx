/** How the amounts of a document came about, checked in this browser by exact arithmetic. */
import { useQuery } from "@connectrpc/connect-query";
import { useQuery as useAnyQuery } from "@tanstack/react-query";
import type { Explanation } from "../../../../src/domain/explanation/shown.ts";
import { useOrganisation } from "../data/organisation.tsx";
import { later } from "../design/later.tsx";
import { Disclosure } from "../design/page/disclosure.tsx";
import { State } from "../design/values/state.tsx";
import { DocumentService } from "../gen/billing/admin/v1/documents_pb.ts";
import type { Explanation as Answered } from "../gen/billing/v1/explanations_pb.ts";
import styles from "./explanation.module.css";

// What says it in words is large. It is loaded with the first explanation, behind its disclosure.
const Explained = later(async () => (await import("./explained.tsx")).Explained);

/** An explanation with its text, which is what is verified. */
export interface ReadExplanation {
  readonly of: Explanation | null;
  readonly body: string;
  readonly reason: string | undefined;
}

/** Reads the explanation of a document. Undefined until it is there. */
export function useExplanation(document: string): ReadExplanation | undefined {
  const { id: organisation } = useOrganisation();
  const { data } = useQuery(DocumentService.method.explainDocument, { organisation, document });
  return readExplanation(data?.explanation);
}

/** Reads an explanation of an answer. */
export function readExplanation(answer: Answered | undefined): ReadExplanation | undefined {
  if (answer === undefined) return undefined;
  const { available, body, reason } = answer;
  return { of: available ? (JSON.parse(body) as Explanation) : null, body, reason };
}

/** Says whether this browser came to the same amounts. */
export function Verified({ explanation }: { readonly explanation: ReadExplanation | undefined }) {
  const body = explanation?.body;
  const { data } = useAnyQuery({
    queryKey: ["verify", body],
    queryFn: async () => {
      const { verify } = await import("../../../verify/src/verify.ts");
      return verify(body ?? "");
    },
    enabled: explanation?.of !== undefined && explanation.of !== null,
  });
  if (data === undefined) return null;
  return (
    <span className={styles.verified}>
      {data.verified ? (
        <State word="Verified in this browser" tone="ok" />
      ) : (
        <State word={`Does not follow at ${data.at}: ${data.why}`} tone="bad" />
      )}
    </span>
  );
}

/** The derivation of a line, by its id or in a preview by its place, behind a disclosure. */
export function Derivation({
  explanation,
  line,
}: {
  readonly explanation: ReadExplanation | undefined;
  readonly line: string | number | undefined;
}) {
  if (explanation === undefined) return null;
  const { of, reason } = explanation;
  const explained = of?.lines.find((each, place) => (each.line ?? place) === line);
  return (
    <Disclosure title="How it came about">
      {of && explained ? (
        <Explained of={of} line={explained} />
      ) : (
        <p className="muted">
          {reason === "issued_before"
            ? "It was issued before amounts were explained."
            : "Its facts give another amount, which is a defect. Report it with the document's id."}
        </p>
      )}
    </Disclosure>
  );
}
