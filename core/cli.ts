// The `millrace` command. What went wrong is said in one report, and the exit code says that something did.
import { CommandProblem } from "./cli/operations/problem.ts"
import { runCommand } from "./cli/program.ts"
import { BootError } from "./kernel/config.ts"
import { AppError } from "./kernel/errors.ts"

try {
  const code = await runCommand(process.argv.slice(2))
  // What could not be printed has said so already.
  process.exitCode ||= code
} catch (error) {
  if (!(error instanceof BootError || error instanceof AppError || error instanceof CommandProblem)) throw error
  console.error(error.message)
  process.exitCode = error instanceof CommandProblem ? error.exitCode : 1
}
