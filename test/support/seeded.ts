/**
 * Random numbers of tests from a fixed seed. PROPERTY_SEED, a whole number, tries others.
 */
const ownSeed = 20_261_128;

/** Returns a function whose answers are whole numbers from 0 to below its argument. */
export function seeded(seed = Number(process.env.PROPERTY_SEED ?? ownSeed)): Below {
  let state = seed >>> 0;
  return (limit) => {
    // Numerical Recipes' generator: its high bits are random enough for a choice.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A whole number from 0 to below `limit`. */
export type Below = (limit: number) => number;
