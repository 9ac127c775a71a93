// Confinement of the sandbox's processes. Code outside its isolate, in a child's own realm, reaches no file, network, other
// process or environment, and no later program of another organization.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { MovableClock } from "../../../core/kernel/movable-clock.ts"
import { ChildLink } from "../../../core/pipeline/sandbox/child-link.ts"
import { Compiler } from "../../../core/pipeline/sandbox/compiler.ts"

const isRoot = process.getuid?.() === 0

/** Returns child processes of this process with this argument. */
function childrenWith(argument: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const parent = readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ")[1]
        return parent === String(process.pid) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(argument)
      } catch {
        return false
      }
    })
    .map(Number)
}

// Only Linux denies files and the network in the kernel.
const onLinux = process.platform === "linux" ? describe : describe.skip

onLinux("a sandbox child's own realm", () => {
  let folder: string
  let link: ChildLink
  let undenied: readonly string[]
  let answered: (parts: string[]) => void
  let server: Server
  let visitors = 0

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-escaped-"))
    writeFileSync(join(folder, "master.key"), "secret", { mode: 0o644 })
    server = createServer((socket) => {
      visitors++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    await new Promise<void>((resolve, reject) => {
      const entry = new URL("./escaped-child-main.ts", import.meta.url)
      link = new ChildLink(
        { entry, parameters: [], bundle: async () => "", readable: [`${import.meta.dirname}/`] },
        {
          onReady: (names) => {
            undenied = names
            resolve()
          },
          onFrame: (parts) => answered(parts),
          onLost: ({ stderr }) => reject(new Error(stderr)),
        },
      )
    })
  })
  after(() => {
    link.kill()
    server.close()
    rmSync(folder, { recursive: true })
  })

  const attempt = (name: string, target = "") =>
    new Promise<{ outcome: string; what: string }>((resolve) => {
      answered = ([, outcome = "", what = ""]) => resolve({ outcome, what })
      link.send([name, target])
    })
  const port = () => String((server.address() as { port: number }).port)
  const addon = () =>
    import.meta
      .resolve("isolated-vm")
      .replace("file://", "")
      .replace(/isolated-vm\.js$/, "prebuilds/linux-x64/isolated-vm.node")

  it("is denied everything, as its own probe says", () => {
    expect(undenied).to.deep.equal(isRoot ? [] : ["signals to the service"])
  })

  const denied: readonly [string, () => string][] = [
    ["reads a file", () => join(folder, "master.key")],
    ["reads a file by promise", () => join(folder, "master.key")],
    ["reads its own source", () => ""],
    ["lists a folder", () => folder],
    ["writes a file", () => join(folder, "written")],
    ["opens a database", () => join(folder, "database")],
    ["loads an addon", addon],
    ["requires an addon", addon],
    ["imports a file", () => join(folder, "master.key")],
    ["starts a process", () => ""],
    ["starts a thread", () => join(import.meta.dirname, "escaped-child-main.ts")],
    ["connects by TCP", port],
    ["connects to a socket file", () => join(folder, "socket")],
    ["fetches", port],
    ["sends a datagram", port],
    ["listens", () => ""],
    ["asks a name server", () => ""],
    ["signals the service", () => ""],
    ["binds internals", () => "tcp_wrap"],
    ["writes a report", () => ""],
    ["finds its pipe", () => ""],
  ]
  for (const [name, target] of denied) {
    it(`is denied where it ${name}`, async () => {
      const { outcome, what } = await attempt(name, target())
      expect(outcome, what).to.equal("denied")
      expect(what).to.not.include("secret")
    })
  }

  it("left nothing behind and met nobody", () => {
    expect(readdirSync(folder)).to.deep.equal(["master.key"])
    expect(visitors).to.equal(0)
  })

  it("has none of Node's permissions, regardless of what the kernel denies besides", async () => {
    expect(await attempt("has permissions")).to.deep.equal({ outcome: "did", what: "[]" })
  })

  it("has an environment of its own, and no descriptors but its pipes", async () => {
    expect(JSON.parse((await attempt("reads its environment")).what)).to.deep.equal(["LANG", "LC_ALL", "TZ"])
    const limits = readFileSync(`/proc/${link.pid}/limits`, "utf8")
    expect(limits).to.match(/^Max open files\s+0\s+0/m)
  })

  it("is another user's where the service is root's, and can't come back", async function () {
    if (!isRoot) this.skip()
    expect(await attempt("is of the user")).to.deep.equal({ outcome: "did", what: "65534" })
    expect((await attempt("becomes root")).outcome).to.equal("denied")
    expect(readFileSync(`/proc/${link.pid}/status`, "utf8")).to.match(/^Uid:\s+65534\s+65534\s+65534\s+65534$/m)
  })
})

onLinux("compile processes", () => {
  it("serve one organization each, and are not handed on", async () => {
    const compiler = new Compiler(new MovableClock())
    // Children of a sandbox shared with other files of this process.
    const others = new Set(childrenWith("compile-main"))
    const compile = async (organization: string, type: string) => {
      expect((await compiler.compile({ organization, schema: { type }, transform: null })).problems).to.deep.equal([])
      return childrenWith("compile-main").filter((pid) => !others.has(pid))
    }
    try {
      const first = await compile("a", "object")
      expect(first).to.have.length(1)
      expect(await compile("a", "array")).to.deep.equal(first)
      const second = await compile("b", "object")
      expect(second).to.have.length(2).and.to.include.members(first)
      await compile("c", "object")
      // One organization more than processes: the longest idle process ends and has a new successor.
      const fourth = await compile("d", "object")
      expect(fourth).to.have.length.within(3, 4)
      expect(fourth.filter((pid) => !second.includes(pid))).to.have.length(2)
    } finally {
      compiler.stop()
    }
  })
})
