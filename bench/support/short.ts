/** The short form of a measurement: `npm run bench -- NAME --short`, as `all` runs it. */

/** Whether only the figures of the table are wanted, in the least time that gives them. */
export const isShort = process.argv.includes("--short");
