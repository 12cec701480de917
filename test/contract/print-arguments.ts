/** A program that prints how it was called. */
console.log(JSON.stringify(process.argv.slice(1)));
