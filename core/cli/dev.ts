// `millrace dev`: the service of a project, started again when a plugin or a setting changes; pipeline files are applied
// as they change.
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Command } from "commander"
import { frameworkRoot } from "../bootstrap/plugins.ts"
import { startedAgain } from "./started-again.ts"

export function addDev(program: Command, root: string, end: (exitCode: number) => void): void {
  program
    .command("dev")
    .description("Start the service, restart it when plugins/ or config/ change, and apply pipeline files when they change.")
    .action(async () => {
      const folders = ["plugins", "config"].map((folder) => join(root, folder)).filter((folder) => existsSync(folder))
      end(await startedAgain({ folders, command: [join(frameworkRoot, "core/dev.js")], cwd: root }))
    })
}
