// The `millrace` command. What went wrong is said in one report, and the exit code says that something did.
import { runCommand } from "./cli/program.ts"
import { BootError } from "./kernel/config.ts"
import { AppError } from "./kernel/errors.ts"

try {
  process.exitCode = await runCommand(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof BootError || error instanceof AppError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
