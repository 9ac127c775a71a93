// The `millrace` command, as the process that was started for it.
import { runReported } from "./cli/program.ts"

const code = await runReported(process.argv.slice(2))
// What could not be printed has been reported already.
process.exitCode ||= code
