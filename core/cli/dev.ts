// `millrace dev`: the service of a project, started again when a plugin or a setting changes; pipeline files are applied
// as they change.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Command } from "commander"
import { frameworkRoot } from "../house/plugins.ts"

export function addDev(program: Command, root: string, end: (exitCode: number) => void): void {
  program
    .command("dev")
    .description("Start the service, again whenever plugins/ or config/ changes, and apply pipeline files as they change.")
    .action(async () => {
      const watched = ["plugins", "config"].filter((folder) => existsSync(join(root, folder)))
      const flags = ["--watch", "--watch-preserve-output", ...watched.map((folder) => `--watch-path=${join(root, folder)}`)]
      const child = spawn(process.execPath, [...flags, join(frameworkRoot, "core/dev.js")], { cwd: root, stdio: "inherit" })
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))
      end(await new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? 0))))
    })
}
