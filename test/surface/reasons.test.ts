// Reasons of errors, compared in both directions: thrown reasons, and reasons registered by core and plugins and explained in the
// documentation.
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, defineReasons } from "#core"
import { testHost } from "#core/testing"
import { httpStatusOf } from "../../core/kernel/errors.ts"
import type { ReasonSpec, ReasonSpecs } from "../../core/kernel/reasons/define.ts"
import { coreReasons } from "../../core/kernel/reasons.ts"
import { projectRoot } from "../import-graph.ts"
import { shippedResources } from "../resource/shipped.ts"

const read = (file: string) => readFileSync(join(projectRoot, file), "utf8")
const sources = globSync("{core,plugins,client}/**/*.ts", { cwd: projectRoot }).filter((file) => !/\/reasons(?:\.ts$|\/)/.test(file))
const texts = sources.map((file) => ({ file, text: read(file) }))
const reasonFiles = globSync("plugins/**/reasons.ts", { cwd: projectRoot })

/** Errors with literal code and reason. */
const thrown = texts.flatMap(({ file, text }) =>
  [...text.matchAll(/new \w*(?:Error|Refused|Unverified)\(\s*"(\w+)",((?:(?!new \w*Error\()[\s\S]){0,900})/g)].flatMap(
    ([, code = "", remainder = ""]) => {
      const reason = /reason: "(\w+)"/.exec(remainder)?.[1]
      return reason === undefined ? [] : [{ file, code, reason }]
    },
  ),
)

async function registered(): Promise<Map<string, { owner: string; spec: ReasonSpec }>> {
  const owners: [string, ReasonSpecs][] = [["core", coreReasons]]
  for (const file of reasonFiles) {
    owners.push([dirname(file), ((await import(join(projectRoot, file))) as { reasons: ReasonSpecs }).reasons])
  }
  return new Map(owners.flatMap(([owner, reasons]) => Object.entries(reasons).map(([reason, spec]) => [reason, { owner, spec }] as const)))
}

describe("reasons of errors", () => {
  it("that are thrown are registered, with the code that they are thrown with", async () => {
    expect(thrown.map(({ reason }) => reason)).to.include.members(["unverified", "storage_full", "dataset_not_found"])
    const existing = await registered()
    const wrong = thrown.filter(({ reason, code }) => !(existing.get(reason)?.spec.code === code))
    expect(wrong).to.deep.equal([])
  })

  it("that core throws are core's own", () => {
    expect(thrown.filter(({ file, reason }) => !file.startsWith("plugins/") && !(reason in coreReasons))).to.deep.equal([])
  })

  it("that are registered are thrown somewhere, by core where they are core's", async () => {
    // A resource throws its own reason by name.
    const ofResources = new Set(shippedResources.map(({ identity }) => `${identity.name}_not_found`))
    for (const [reason, { owner, spec }] of await registered()) {
      if (ofResources.has(reason)) continue
      const word = new RegExp(`["'\`]${reason}["'\`]`)
      const users = texts.filter(({ text }) => word.test(text)).filter(({ file }) => owner !== "core" || !file.startsWith("plugins/"))
      expect(users.length, reason).to.be.greaterThan(0)
      expect(httpStatusOf, reason).to.have.property(spec.code)
      expect(spec.summary, reason).to.match(/^[A-Z].*\.$/)
    }
  })

  it("are explained in the reference, each once", async () => {
    const rows = [...read("docs/reference/errors.md").matchAll(/^\| `(\w+)` \| `\w+` \|/gm)].map(([, reason]) => reason)
    expect(rows).to.have.members([...(await registered()).keys()])
  })

  it("of a plugin outside the repository are registered with it; a word that is taken is refused at the start", async () => {
    const plugin = (reasons: ReasonSpecs) =>
      definePlugin({ id: "tides", reasons: defineReasons(reasons), config: z.strictObject({}), register() {} })
    const host = await testHost({ plugins: [plugin({ ebb_tide: { code: "unavailable", summary: "There is no water." } })] })
    await host.stop()
    const booting = testHost({ plugins: [plugin({ rate_limited: { code: "unavailable", summary: "There is no water." } })] })
    const problem = await booting.then(
      (started) => started.stop().then(() => ""),
      (error: Error) => error.message,
    )
    expect(problem).to.include('The reason "rate_limited" of the plugin "tides" is registered by core already')
  })
})
