// Completion scripts: run in the installed shells (bash always), and checked for every command and flag.
import { spawnSync } from "node:child_process"
import { expect } from "chai"
import { runMillrace } from "./command-line.ts"

async function script(shell: string): Promise<string> {
  const { code, out, err } = await runMillrace(["completion", shell])
  expect(code, err).to.equal(0)
  return out
}

describe("shell completion", () => {
  it("completes areas, verbs, flags and choices in bash, and leaves files to the shell", async () => {
    const text = await script("bash")
    const complete = (line: string) => {
      const words = line.split(" ")
      const query = `${text}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout, stderr, status } = spawnSync("bash", ["--norc"], { encoding: "utf8", input: query })
      expect([status, stderr]).to.deep.equal([0, ""])
      return stdout.split("\n").filter(Boolean)
    }
    expect(complete("millrace data")).to.deep.equal(["datasets"])
    expect(complete("millrace ")).to.include.members(["start", "login", "datasets", "event-pipelines", "completion"])
    expect(complete("millrace datasets li")).to.have.members(["list", "list-rows"])
    expect(complete("millrace datasets list-rows leads --l")).to.deep.equal(["--limit"])
    expect(complete("millrace datasets create --name x --class ")).to.have.members(["table", "events"])
    expect(complete("millrace datasets create --file ")).to.deep.equal([])
    expect(complete("millrace nonsense zzz")).to.deep.equal([])
  })

  /** Passes the script on standard input, since an argument has a limit of 128 KiB. Skips the test if the shell is missing. */
  const ran = (context: Mocha.Context, shell: string, option: string, input: string): string[] => {
    const { stdout, stderr, status, error } = spawnSync(shell, [option], { encoding: "utf8", input })
    if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOENT") context.skip()
    expect(error).to.equal(undefined)
    expect([status, stderr]).to.deep.equal([0, ""])
    return stdout.split("\n").filter(Boolean)
  }

  it("completes in zsh", async function () {
    const text = await script("zsh")
    const complete = (line: string) => {
      const words = line.split(" ")
      const message = `words=(${words.map((word) => `'${word}'`).join(" ")}) CURRENT=${words.length}; _millrace`
      const offered = ran(
        this,
        "zsh",
        "-f",
        `compdef() {}; _files() { print FILES }; compadd() { print -l -- "\${@:2}" }; ${text}\n${message}`,
      )
      return offered.filter((word) => word.startsWith(words.at(-1) ?? "") || word === "FILES")
    }
    expect(complete("millrace data")).to.deep.equal(["datasets"])
    expect(complete("millrace datasets li")).to.have.members(["list", "list-rows"])
    expect(complete("millrace datasets list-rows leads --l")).to.deep.equal(["--limit"])
    expect(complete("millrace datasets create --name x --class ")).to.have.members(["table", "events"])
    expect(complete("millrace datasets create --file ")).to.deep.equal(["FILES"])
  })

  it("completes in fish", async function () {
    const text = await script("fish")
    const complete = (line: string) =>
      ran(this, "fish", "--no-config", `${text}\ncomplete -C '${line}'`).map((message) => message.split("\t")[0] ?? "")
    expect(complete("millrace datas")).to.deep.equal(["datasets"])
    expect(complete("millrace datasets li")).to.have.members(["list", "list-rows"])
    expect(complete("millrace datasets list-rows leads --l")).to.deep.equal(["--limit"])
    expect(complete("millrace datasets create --class ")).to.have.members(["table", "events"])
  })

  it("names every command and flag for zsh and fish too, and refuses other shells", async () => {
    const zsh = await script("zsh")
    expect(zsh).to.match(/^#compdef millrace\n/)
    for (const words of ["list list-rows", "--expected-revision", '--class) found="table events"']) expect(zsh).to.include(words)
    const fish = await script("fish")
    expect(fish).to.include(
      `complete -c millrace -f -n '__millrace_at "datasets"' -a 'list-rows' -d 'List rows of a dataset, newest first unless sorted otherwise.'`,
    )
    expect(fish).to.include(`-l 'class' -d`).and.include("-x -a 'table events'")
    expect(await runMillrace(["completion", "powershell"])).to.deep.equal({
      code: 1,
      out: "",
      err: 'Completion for "powershell" is not supported; supported are bash, zsh, fish.\n',
    })
  })
})
