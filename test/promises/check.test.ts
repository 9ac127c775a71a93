// Writes each kind of dropped promise to its own file. The check reports its line.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"

const start = `import { EventEmitter } from "node:events"
declare function text(): string | Promise<string>
declare function task(): Promise<number>
declare function save(): Promise<void>
declare const emitter: EventEmitter
declare const loose: { on(event: string, listener: (...given: never[]) => unknown): void }
`

/** Statements with one fault each, by kind. */
const faults: Record<string, string> = {
  "a dropped `T | Promise<T>`": "text()",
  "a dropped promise": "task()",
  "`void` before a call": "void task()",
  "`void` in an arrow function": "setImmediate(() => void task())",
  "a variable whose promise is dropped": 'const read = text(); console.log(typeof read === "string" ? read : undefined)',
  "a variable that is compared alone": "const found = text(); console.log(found === undefined)",
  "a call that is compared": 'console.log(text() === "a")',
  "a call inside a condition": "if (!text()) console.log(1)",
  "an async listener": 'emitter.on("end", async () => { await task() })',
  "an async listener of an emitter that allows any result": 'loose.on("end", async () => { await task() })',
  "an async timer": "setInterval(async () => { await task() }, 1_000)",
  "an async `forEach`": "[1, 2].forEach(async () => { await task() })",
  "`.then` without a rejection handler": "task().then((found) => console.log(found))",
  "`.finally` without a rejection handler": "task().finally(() => console.log(1))",
  "a second rejection in `Promise.all`": "await Promise.all([task(), save()])",
  "a list of effects in `Promise.all`": "console.log((await Promise.all([save(), save()])).length)",
  "a promise that rejects while another is awaited": "const first = task(); await save(); console.log(await first)",
}

/** Statements without a fault. */
const sound: readonly string[] = [
  "await task()",
  "task().catch((error: unknown) => console.error(error))",
  "task().then((found) => console.log(found), (error: unknown) => console.error(error))",
  "const [first, second] = await Promise.all([task(), task()]); console.log(first, second)",
  "const one = task(); const other = task(); console.log(await Promise.allSettled([one, other]))",
  'const read = text(); console.log(typeof read === "string" ? read : await read)',
]

describe("check:promises", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-promises-"))
  const lines: string[] = []
  let output = ""
  before(() => {
    for (const statement of [...Object.values(faults), ...sound])
      lines.push(`export async function f${lines.length}(): Promise<void> { ${statement} }`)
    writeFileSync(join(folder, "seeded.ts"), start + lines.join("\n"))
    const types = { compilerOptions: { typeRoots: [join(projectRoot, "node_modules/@types")] } }
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: join(projectRoot, "tsconfig.json"), ...types, include: ["."], exclude: [] }),
    )
    const { stdout, status } = spawnSync(process.execPath, [join(import.meta.dirname, "main.ts"), folder], {
      cwd: projectRoot,
      encoding: "utf8",
    })
    expect(status, stdout).to.equal(1)
    output = stdout
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const isReported = (index: number) => new RegExp(`seeded\\.ts:${start.split("\n").length + index}:`).test(output)

  for (const [index, kind] of Object.keys(faults).entries()) {
    it(`reports ${kind}`, () => {
      expect(isReported(index), output).to.equal(true)
    })
  }

  it("reports no promise that has a handler", () => {
    for (const [index, statement] of sound.entries())
      expect(isReported(Object.keys(faults).length + index), `${statement}\n${output}`).to.equal(false)
  })
})
