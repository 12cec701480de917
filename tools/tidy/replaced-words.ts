/**
 * The words that the glossary replaces, and the few phrases in which they stay. Each pattern is
 * matched against lower-case words with single spaces: an identifier such as `takeMarks` or
 * `take_marks` reads `take marks`.
 */

/** A replaced word. `in` says whether it leaves names, prose (comments and strings), or both. */
export interface ReplacedWord {
  readonly pattern: RegExp;
  readonly use: string;
  readonly in: "names" | "prose" | "both";
  /** The paths to which the rule applies. Without it, all. */
  readonly paths?: RegExp;
}

/** The left column of the glossary, in its order. */
export const replacedWords: readonly ReplacedWord[] = [
  { pattern: /\b(?:un)?(?:tells?|telling|told)\b/g, use: "publish, report or return", in: "both" },
  { pattern: /\bobject changes\b|\bchange scans?\b/g, use: "outbox, relay", in: "names" },
  { pattern: /\bmarks\b/g, use: "outbox entries", in: "names" },
  { pattern: /\bmirror\w*\b/g, use: "ledger sync", in: "both" },
  { pattern: /\blook(?:s|ed|ing)?\b(?! ups?\b)/g, use: "check, sync, read", in: "both" },
  {
    pattern: /\b(?:seen|followed)\b/g,
    use: "observed",
    in: "names",
    paths: /^(?!prisma).*(?:ledger|sync|posting)|workflows/,
  },
  { pattern: /\bhint\w*\b/g, use: "notification", in: "both" },
  { pattern: /\bsw(?:eep\w*|ept)\b/g, use: "incremental sync", in: "both" },
  { pattern: /\b(?:un)?settl\w*\b/g, use: "post, record the outcome", in: "both" },
  { pattern: /\brais(?:e|es|ed|ing)\b/g, use: "issue, reissue, throw, increase", in: "both" },
  { pattern: /\bowed\b/g, use: "charges", in: "both" },
  {
    pattern: /\bput(?:s|ting)? off\b|\bsets? aside\b/g,
    use: "defer, reschedule, park",
    in: "both",
  },
  { pattern: /\boffer\w*\b/g, use: "reference data", in: "both" },
  { pattern: /\bdoubt\w*\b|\bfresh for\b/g, use: "invalidate, max age", in: "both" },
  { pattern: /\bneglected\b/g, use: "stale", in: "both" },
  { pattern: /\brounds?\b/g, use: "batch", in: "both" },
  { pattern: /\bcrowd\w*\b/g, use: "batch", in: "both" },
  { pattern: /\bgather\w*\b/g, use: "coalesce, collect", in: "both" },
  { pattern: /\bturns?\b/g, use: "permit, limiter", in: "names" },
  { pattern: /\b(?:a|its|their|one|each|whose) turn\b/g, use: "permit, limiter", in: "prose" },
  { pattern: /\bdoors?\b/g, use: "transport", in: "both" },
  { pattern: /\bkeepers?\b/g, use: "cache, token store, registry", in: "both" },
  { pattern: /\b(?:re|un)?seal\w*\b/g, use: "encrypt", in: "both" },
  { pattern: /\bjudg\w*\b/g, use: "decide, validate, evaluate", in: "both" },
  {
    pattern: /\bcheckpoints?\b/g,
    use: "crash point",
    in: "both",
    // In the measurements and their results it is PostgreSQL's own.
    paths: /^(?!bench\/|docs\/sizing\.md$)/,
  },
  {
    pattern: /\bscoped?\b|\bunscoped\b/g,
    use: "tenant",
    in: "names",
    // `src/services/events.ts` compares scopes of API keys.
    paths:
      /^(?:(?:src|test)\/store\/(?!access|admin|ledger-c)|src\/services\/(?!events)|tools\/tidy\/)/,
  },
  { pattern: /\bendings?\b/g, use: "termination", in: "names" },
  { pattern: /\b(?:an|its|the|this|held|each) ending\b/g, use: "termination", in: "prose" },
  // A test's local may have one of these words as its whole name.
  {
    pattern:
      /(?<= )(?:made|makes?|asked|given|sought)\b|\b(?:made|makes?|asked|given|sought)(?= )/g,
    use: "the verb of the thing",
    in: "names",
  },
  {
    pattern: /^(?:made|makes?|asked|given|sought)$/g,
    use: "the verb of the thing",
    in: "names",
    paths: /^(?:src|workflows|proto|prisma|tools)\//,
  },
  { pattern: /\bapplication s side\b/g, use: "admin API", in: "prose" },
  { pattern: /\bforgets?\b/g, use: "delete expired", in: "both" },
  { pattern: /\bhousekeeping\b/g, use: "cleanup", in: "both" },
  { pattern: /\b(?:rooms?|house|walls?)\b/g, use: "module, layer, isolation", in: "both" },
  { pattern: /\bsay pattern\b|\bplain rules\b|\btext rules\b/g, use: "describe", in: "names" },
  { pattern: /\bworlds?\b/g, use: "fixture", in: "both" },
  { pattern: /\bfor test\b/g, use: "fixture, builder", in: "names" },
  { pattern: /\bbooks\b/g, use: "ledger documents", in: "both" },
  { pattern: /\bof then\b|\bof now\b|\banew\b/g, use: "previous, current, again", in: "both" },
  { pattern: /\bbeside\b/g, use: "in addition to", in: "both" },
  { pattern: /\bbut for\b|\bwhoever\b|\bnobody is at\b/g, use: "except, anyone", in: "prose" },
  { pattern: /\bof its own\b/g, use: "own, separate", in: "prose" },
];

/** A phrase of the file's text that contains a replaced word and stays. */
interface AllowedPhrase {
  readonly pattern: RegExp;
  readonly reason: string;
  /** The paths to which it applies. Without it, all. */
  readonly paths?: RegExp;
}

/** The allowed phrases. */
export const allowedPhrases: readonly AllowedPhrase[] = [
  { pattern: /\bMath\.round\b/g, reason: "JavaScript" },
  {
    pattern: /\brounds?\b|\bround(?=[A-Z])/gi,
    reason: "the rounding of amounts",
    paths: /^(?:src|test)\/domain\/|^test\/properties\/|^docs\/(?:rules\/|adr\/0005-)|^proto\//,
  },
  { pattern: /\bround(?=\()/g, reason: "SQL's and the domain's rounding of amounts" },
  {
    pattern: /\brounds (?=unit amounts|Quantity)/g,
    reason: "Xero's rounding of amounts",
    paths: /^src\/ledger\/xero\/documents\//,
  },
  { pattern: /\bround(?:ed)?[- ](?:half|trips?|up|down)\b|\broundTrips?\b/gi, reason: "rounding" },
  { pattern: /\ball_?settled\b|\bPromiseSettled\w*/gi, reason: "JavaScript" },
  { pattern: /\bRAISE (?:EXCEPTION|NOTICE)\b/g, reason: "PL/pgSQL" },
  { pattern: /\bmake(?:TelemetryFilterString|ContinueAsNewFunc)\b/g, reason: "Temporal" },
  {
    pattern: /\bhint\b/g,
    reason: "a column",
    paths: /^test\/(?:support\/system|store\/ledger-connection\/expiries\.system\.test)\.ts$/,
  },
  { pattern: /\bQuick ?Books\b/g, reason: "a product" },
  {
    pattern: /\bhint\b/g,
    reason: "the visible end of a key or token, a field of the contract",
    paths: /^(?:proto|prisma)\/|\/(?:admin|access|constraints)\/|rpc\/gate\/api-key\./,
  },
  { pattern: /\bhint: error\.hint\b/g, reason: "PostgreSQL" },
  { pattern: /\bCHECKPOINT_DISABLE\b/g, reason: "Prisma" },
  { pattern: /\bmakeGrpcRetryInterceptor\b/g, reason: "Temporal" },
  { pattern: /\bmakeWorkflowExporter\b/g, reason: "Temporal" },
  { pattern: /Early ?Hints|after the hints/g, reason: "HTTP" },
  { pattern: /\blook (?:it|them) up\b/g, reason: "the verb of a lookup" },
  {
    pattern: /\bhint\b/g,
    reason: "the visible end of a key, a column",
    paths: /^test\/support\/organisation-builder\.ts$/,
  },
  {
    pattern: /\bhint\b/g,
    reason: "the visible end of a key, a column",
    paths: /^(?:bench\/support\/system|packages\/dev\/src\/demo\/first-data)\.ts$/,
  },
  {
    pattern: /\bhint\b/g,
    reason: "the visible end of a key, a column",
    paths: /^packages\/dev\/src\/demo\/new-credentials\.ts$/,
  },
  {
    pattern: /you're looking for/g,
    reason: "Xero's own message",
    paths: /^packages\/demo-ledger\/src\//,
  },
  {
    pattern: /\btell_change\b/g,
    reason: "the function that older demo ledgers have",
    paths: /^packages\/demo-ledger\/src\/schema\.ts$/,
  },
  { pattern: /\bwall[- ]?clock/gi, reason: "the field's word" },
  { pattern: /\bmake_(?:date|interval|timestamptz?)\b/g, reason: "PostgreSQL" },
  { pattern: /\bwhat stops you forgetting\b/g, reason: "the table of additions" },
];
