// The compiling process: its reports of invalid schemas, and its end after idle time.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { expect } from "chai"
import { MovableClock } from "../../../core/kernel/movable-clock.ts"
import { Compiler } from "../../../core/pipeline/sandbox/compiler.ts"
import { outputUntil } from "../../processes.ts"
import { refusalOf } from "../../refusal.ts"

const sourceOf = (schema: unknown, organization = "acme") => ({ organization, schema, transform: null })

describe("the compiler's process", () => {
  it("is another one for what comes while an idle one is being ended", async () => {
    const clock = new MovableClock()
    const compiler = new Compiler(clock)
    try {
      for (const type of ["object", "string"]) {
        expect((await compiler.compile(sourceOf({ type }))).problems, type).to.deep.equal([])
        clock.move(30_000)
      }
    } finally {
      compiler.stop()
    }
  })

  it("makes the same of a program as the one of another organization that started before it", async () => {
    const compiler = new Compiler(new MovableClock())
    const schema = {
      type: "object",
      properties: { email: { type: "string", format: "email" }, at: { format: "date-time", pattern: "^2" } },
    }
    const sources = [
      { schema, transform: "function transform(event, { query }) { return { ...event, query } }" },
      { schema: { type: "objekt" }, transform: "function transform(" },
    ]
    const madeFor = async (organization: string) => {
      const created = []
      for (const source of sources) created.push(await compiler.compile({ organization, ...source }))
      return created
    }
    try {
      const [first, other] = [await madeFor("acme"), await madeFor("globex")]
      expect(first?.map(({ problems }) => problems.length > 0)).to.deep.equal([false, true])
      expect(other).to.deep.equal(first)
    } finally {
      compiler.stop()
    }
  })

  it("is not blamed for the time that it waits for the processor", async () => {
    const clock = new MovableClock()
    const compiler = new Compiler(clock)
    try {
      expect((await compiler.compile(sourceOf({ type: "object" }))).problems).to.deep.equal([])
      const compiling = compiler.compile(sourceOf({ type: "string" }))
      clock.move(10_000)
      expect((await compiling).problems).to.deep.equal([])
    } finally {
      compiler.stop()
    }
  })

  it("blames no schema where the system has no descriptors left, and compiles it once there are some", async function () {
    if (process.platform !== "linux") this.skip()
    const lost: string[] = []
    const compiler = new Compiler(new MovableClock(), { onReady: () => {}, onLost: ({ stderr }) => lost.push(stderr) })
    let elapsed = 0
    while (existsSync(`/proc/self/fd/${elapsed}`)) elapsed++
    // Another process sets the limit and reverts it: this process could no longer start one.
    const limit = `prlimit --pid $0 --nofile=$1:; echo set; read -r _; prlimit --pid $0 --nofile=$2:; echo taken back`
    const limiter = spawn("/bin/sh", ["-c", limit, String(process.pid), String(elapsed + 8), "4096"])
    try {
      await outputUntil(limiter, /^set/)
      const error = await refusalOf(compiler.compile(sourceOf({ type: "object" })))
      expect([error.code, error.details, error.retryAfterS]).to.deep.equal(["unavailable", { reason: "sandbox_unavailable" }, 1])
      expect(lost.join()).to.include("EMFILE")
    } finally {
      limiter.stdin.end("\n")
      await outputUntil(limiter, /taken back/)
    }
    expect((await compiler.compile(sourceOf({ type: "object" }))).problems).to.deep.equal([])
    compiler.stop()
  })

  it("says all that is wrong with a schema at once, each at its own place and once", async () => {
    const compiler = new Compiler(new MovableClock())
    try {
      const pointersOf = async (schema: unknown) => (await compiler.compile(sourceOf(schema))).problems.map(({ pointer }) => pointer)
      const schema = {
        type: "objekt",
        properties: { pattern: { pattern: "(" }, "a/b": { minimum: "3", required: "x" }, c: { const: { pattern: "(" } } },
        patternProperties: { "[": {} },
      }
      expect((await pointersOf(schema)).sort()).to.deep.equal(
        ["/patternProperties/[", "/properties/a~1b/minimum", "/properties/a~1b/required", "/properties/pattern/pattern", "/type"].sort(),
      )
      expect((await compiler.compile(sourceOf({ pattern: "(" }))).problems).to.deep.equal([
        { part: "schema", pointer: "/pattern", message: '"(" is not a regular expression: Unterminated group.' },
      ])
      const references = {
        properties: { a: { $ref: "#/$defs/x" }, b: { items: { $ref: "#/$defs/y" } }, c: { $ref: "#/$defs/z" } },
        $defs: { z: {} },
      }
      expect(await pointersOf(references)).to.deep.equal(["/properties/a/$ref", "/properties/b/items/$ref"])
      const many = { properties: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, { type: "strin" }])) }
      expect(await pointersOf(many)).to.have.length(20)
    } finally {
      compiler.stop()
    }
  })
})
