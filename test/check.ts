// `npm test`: the static checks (the scripts of package.json whose names begin with "check:") side by side, and where all
// of them pass, the fast tier. What a check prints is shown when it has ended.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { projectRoot } from "./import-graph.ts"
import { runTier } from "./run.ts"

const { scripts } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { scripts: Record<string, string> }
const env = { ...process.env, PATH: `${join(projectRoot, "node_modules/.bin")}${delimiter}${process.env["PATH"]}` }

/** Whether it passed. */
function check(name: string, command: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { cwd: projectRoot, env, shell: true, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()))
    child.once("error", reject)
    child.once("close", (code) => {
      process.stdout.write(output)
      if (code !== 0) console.error(`npm run ${name} failed (${code}).`)
      resolve(code === 0)
    })
  })
}

const checks = Object.entries(scripts).filter(([name]) => name.startsWith("check:"))
const passed = await Promise.all(checks.map(([name, command]) => check(name, command)))
process.exitCode = passed.includes(false) ? 1 : runTier("fast", process.argv.slice(2))
