// The entry point of the `millrace` command.
import { runReported } from "./cli/program.ts"

const code = await runReported(process.argv.slice(2))
// A failure to print has been reported already.
process.exitCode ||= code
