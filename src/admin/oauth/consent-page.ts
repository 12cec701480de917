/**
 * The page that a browser shows after a consent. It has no script. It says what happened and what
 * to do next.
 */
import type { ConsentOutcome } from "./consent.ts";

/** The page with its status: 200 if the ledger granted access, 400 if the consent failed. */
export function consentPage(outcome: ConsentOutcome): {
  readonly status: number;
  readonly html: string;
} {
  switch (outcome.kind) {
    case "connected":
      return page(
        200,
        "Connected",
        `<p>The ledger of <b>${escapeHtml(outcome.tenantName)}</b> is connected.` +
          " You can close this page.</p>",
      );
    case "choose": {
      const rows = outcome.tenants.map(
        ({ tenantId, name }) =>
          `<li>${escapeHtml(name)}<br><code>${escapeHtml(tenantId)}</code></li>`,
      );
      const how =
        "<p>Choose one within ten minutes: <code>billing ledger choose TENANT_ID</code></p>";
      return page(
        200,
        "Which one?",
        `<p>The consent reaches these organisations.</p><ul>${rows.join("")}</ul>${how}`,
      );
    }
    case "failed":
      return page(400, "Not connected", `<p>${escapeHtml(outcome.why)}</p>`);
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
