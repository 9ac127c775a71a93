// A child process of the service: its requests, its limits and its end.
import { expect } from "chai"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { type ChildProgram, ConfinedChild } from "../../core/process/confined-child.ts"
import { PeerLost } from "../../core/process/peer.ts"

const main = new URL("./child-main.ts", import.meta.url)
const onLinux = process.platform === "linux" ? it : it.skip

describe("confined child", () => {
  const children: ConfinedChild[] = []
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.stop()))
  })

  function startChild(program: Partial<ChildProgram> = {}): ConfinedChild {
    const child = new ConfinedChild({ name: "test process", main, ...program })
    children.push(child)
    return child
  }

  async function answerOf(child: ConfinedChild, command: string, text = ""): Promise<unknown> {
    return (await child.ask<{ value: unknown }>({ command, text })).value
  }

  async function lossOf(request: Promise<unknown>): Promise<PeerLost> {
    const error = await request.then(
      () => undefined,
      (cause: unknown) => cause,
    )
    expect(error).to.be.instanceOf(PeerLost)
    return error as PeerLost
  }

  it("resolves each request with its own answer", async () => {
    const child = startChild()
    expect(await Promise.all(["a", "b", "c"].map((text) => answerOf(child, "echo", text)))).to.deep.equal(["a", "b", "c"])
  })

  it("passes messages without a request to its owner", async () => {
    const message = Promise.withResolvers<unknown>()
    startChild({ onMessage: message.resolve })
    expect(await message.promise).to.equal("ready")
  })

  it("has no variable of the service", async () => {
    process.env["MILLRACE_TEST_PLANTED"] = "planted"
    expect(await answerOf(startChild({ env: { LANG: "C" } }), "environment")).to.deep.equal(["LANG", "TZ"])
    delete process.env["MILLRACE_TEST_PLANTED"]
  })

  onLinux("starts under its limits, without core dumps", async () => {
    const limits = await answerOf(startChild({ limits: { dataMb: 2_048, cpuSeconds: 30, stackKb: 1_280 } }), "limits")
    expect(limits)
      .to.match(/^Max data size +2147483648 /m)
      .and.match(/^Max cpu time +30 /m)
    expect(limits)
      .to.match(/^Max stack size +1310720 /m)
      .and.match(/^Max core file size +0 /m)
  })

  it("reads only the listed folders", async () => {
    const child = startChild({ files: { read: [`${import.meta.dirname}/`], packages: [] } })
    expect(await answerOf(child, "read", import.meta.filename)).to.be.greaterThan(0)
    expect(await answerOf(child, "read", "/etc/passwd")).to.equal("ERR_ACCESS_DENIED")
  })

  onLinux("opens no file after its descriptors are denied", async () => {
    const child = startChild()
    expect(await answerOf(child, "read", import.meta.filename)).to.be.greaterThan(0)
    expect(await child.denyDescriptors()).to.equal(undefined)
    expect(await answerOf(child, "read", import.meta.filename)).to.equal("EMFILE")
  })

  it("is killed at its deadline, and names the deadline", async () => {
    const clock = new MovableClock()
    const child = startChild()
    await answerOf(child, "echo")
    child.deadline(1_000, "deadline", clock)
    const request = child.ask({ command: "hang" })
    clock.move(999)
    expect(child.isAlive).to.equal(true)
    clock.move(1)
    expect(child.isAlive).to.equal(false)
    expect((await lossOf(request)).exit).to.deep.include({ killed: "deadline", signal: "SIGKILL" })
  })

  it("outlives a deadline that was cancelled", async () => {
    const clock = new MovableClock()
    const child = startChild()
    child.deadline(1_000, "deadline", clock)()
    clock.move(1_000)
    expect(await answerOf(child, "echo", "alive")).to.equal("alive")
  })

  for (const ownGroup of [false, true]) {
    onLinux(`is killed when its ${ownGroup ? "group" : "process"} exceeds its memory`, async () => {
      const child = startChild({ ownGroup })
      await answerOf(child, "echo")
      const work = child.within({ deadlineMs: 600_000, memoryMb: 256, pollMs: 5 }, () => child.ask({ command: "grow" }))
      expect((await lossOf(work)).exit.killed).to.equal("memory")
    })
  }

  it("keeps the end of its error output", async () => {
    const { exit, message } = await lossOf(startChild().ask({ command: "fail", text: `${"x".repeat(10_000)} the cause` }))
    expect(exit).to.deep.include({ code: 3, signal: null, killed: undefined })
    expect(exit.stderr).to.have.length(4_096)
    expect(message).to.match(/x the cause$/)
  })

  it("rejects all pending requests when it is lost, and later ones", async () => {
    const child = startChild()
    const pending = ["hang", "hang", "fail"].map((command) => lossOf(child.ask({ command, text: "lost" })))
    for (const { exit } of await Promise.all(pending)) expect(exit).to.deep.include({ code: 3, stderr: "lost" })
    expect((await lossOf(child.ask({ command: "echo" }))).exit.code).to.equal(3)
  })

  it("is lost with the error of a program that cannot start", async () => {
    const child = startChild({ cwd: "/does/not/exist" })
    const { exit } = await lossOf(child.ask({ command: "echo" }))
    expect(exit.cause).to.be.instanceOf(Error)
    expect(exit.stderr).to.include("ENOENT")
  })

  it("drains: ends after its pending requests, and accepts no further use", async () => {
    const child = startChild()
    const pending = answerOf(child, "echo", "last")
    child.drain()
    expect(child.isAlive).to.equal(false)
    expect(await pending).to.equal("last")
    expect((await child.ended).killed).to.equal("stop")
  })
})
