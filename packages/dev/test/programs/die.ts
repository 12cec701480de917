/** Stands for a program that cannot start. */
console.error("the setting FOO is missing");
process.exit(3);
