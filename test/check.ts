// `npm test`: runs the static checks (scripts "check:…" of package.json) and the fast tier in parallel. A failed check interrupts
// the tests. The output of a check is printed when the check has ended.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { projectRoot } from "./import-graph.ts"
import { runTier } from "./run.ts"

const { scripts } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { scripts: Record<string, string> }
const env = { ...process.env, PATH: `${join(projectRoot, "node_modules/.bin")}${delimiter}${process.env["PATH"]}` }

/** Returns true if the check passed. */
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

const failed = new AbortController()
const checks = Object.entries(scripts)
  .filter(([name]) => name.startsWith("check:"))
  .map(async ([name, command]) => {
    if (await check(name, command)) return undefined
    failed.abort()
    return name
  })
const [status, ...outcomes] = await Promise.all([runTier("fast", process.argv.slice(2), failed.signal), ...checks])
const names = outcomes.filter((name) => name !== undefined)
// Repeats the failures, since test output followed them.
for (const name of names) console.error(`npm run ${name} failed.`)
process.exitCode = names.length > 0 ? 1 : status
