/**
 * The page that a browser shows after a consent. It has no script. It says what happened and what
 * to do next. Whoever began in the console gets a link and no redirect: the browser came from
 * another site, and only a navigation that begins here is of the console's site.
 */
import type { ConsentTenant } from "../../store/admin/ledger/consents.ts";

/** The answer to a consent, for the person at the browser. */
export interface AnsweredConsent {
  readonly outcome: ConsentOutcome;
  /** The console's page of the ledger. Null for a consent of the command line or of nobody. */
  readonly consolePage: string | null;
}

/** The outcome of a consent. */
export type ConsentOutcome =
  | { readonly kind: "connected"; readonly tenantName: string }
  | { readonly kind: "choose"; readonly tenants: readonly ConsentTenant[] }
  | { readonly kind: "failed"; readonly why: string };

/** The page with its status: 200 if the ledger granted access, 400 if the consent failed. */
export function consentPage({ outcome, consolePage }: AnsweredConsent): {
  readonly status: number;
  readonly html: string;
} {
  const back =
    consolePage === null
      ? ""
      : `<p><a href="${escapeHtml(consolePage)}">Back to the console</a></p>`;
  switch (outcome.kind) {
    case "connected":
      return page(
        200,
        "Connected",
        `<p>The ledger of <b>${escapeHtml(outcome.tenantName)}</b> is connected.` +
          `${consolePage === null ? " You can close this page." : ""}</p>${back}`,
      );
    case "choose": {
      const rows = outcome.tenants.map(
        ({ tenantId, name }) =>
          `<li>${escapeHtml(name)}<br><code>${escapeHtml(tenantId)}</code></li>`,
      );
      const where =
        consolePage === null ? "<code>billing ledger choose TENANT_ID</code>" : "in the console.";
      const how = `<p>Choose one within ten minutes: ${where}</p>${back}`;
      return page(
        200,
        "Which one?",
        `<p>The consent reaches these organisations.</p><ul>${rows.join("")}</ul>${how}`,
      );
    }
    case "failed":
      return page(400, "Not connected", `<p>${escapeHtml(outcome.why)}</p>${back}`);
  }
}

function page(
  status: number,
  title: string,
  content: string,
): { readonly status: number; readonly html: string } {
  const head = `<meta charset="utf-8"><title>${title}</title>`;
  return {
    status,
    html:
      `<!doctype html><html lang="en"><head>${head}</head>` +
      `<body><h1>${title}</h1>${content}</body></html>`,
  };
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
