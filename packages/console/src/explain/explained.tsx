/** How the amount of a line came about: in words, its facts, and the exact steps. */
import { describeAmount } from "../../../../src/domain/explanation/for-person.ts";
import type { Explanation, ShownLine } from "../../../../src/domain/explanation/shown.ts";
import { docsAddress } from "../design/page/docs-link.tsx";
import styles from "./explanation.module.css";
import { FactsOfLine } from "./facts-of-line.tsx";

/** Shows it. */
export function Explained({ of, line }: { readonly of: Explanation; readonly line: ShownLine }) {
  const rule = line.rule.replace("/", "");
  return (
    <div className={styles.derivation}>
      <ol className={styles.words}>
        {describeAmount(line, of).map((text, index) => (
          <li key={`${String(index)} ${text}`}>{text}</li>
        ))}
      </ol>
      <FactsOfLine line={line} sheets={of.sheets} />
      <details>
        <summary>The exact steps, by the rule {line.rule}</summary>
        <ol className={styles.steps}>
          {line.steps.map(({ id, op, in: names, out }) => (
            <li key={id}>
              <code>
                {id} = {op}({names.join(", ")})
              </code>
              <code className="number">{out}</code>
            </li>
          ))}
        </ol>
        <a href={`${docsAddress("explanations")}#${rule}`} target="_blank" rel="noreferrer">
          What the rule says
        </a>
      </details>
    </div>
  );
}
