// The `millrace` command. What went wrong is said in one report, and the exit code says that something did.
import { runCommand } from "./cli/program.ts"
import { BootError } from "./kernel/config.ts"

try {
  process.exitCode = await runCommand(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof BootError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
