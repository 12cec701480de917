// Pins the Temporal CLI that tools/temporal-cli/build.ts builds: Server 1.31.2, UI 2.50.1.
module temporal-cli-build

go 1.25

require github.com/temporalio/cli v1.8.2

// The release's `replace` is repeated, because Go applies only those of the main module.
replace github.com/temporalio/cli/cliext => github.com/temporalio/cli/cliext v0.0.0-20260731000218-c579925f193f
