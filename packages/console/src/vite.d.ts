/** What the build puts in place. */
/// <reference types="vite/client" />

declare const __VERSION__: string;
