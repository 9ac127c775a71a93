// References in the documentation, the README and the contributor notes exist: pages, headings, files, scripts, operations.
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"
import { pages, readPage } from "./page.ts"

describe("documentation, what it names", () => {
  const all = globSync(["*.md", "docs/**/*.md", "test/README.md"], { cwd: projectRoot })

  it("leads only to pages and headings that are there", () => {
    expect(all).to.include.members(["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/adr/0001-ports-in-contract.md"])
    const dead: string[] = []
    for (const path of all) {
      const { text, links } = readPage(path)
      dead.push(...links.filter((link) => !existsSync(join(projectRoot, link))).map((link) => `${path}: ${link}`))
      for (const [, target = "", anchor = ""] of text.matchAll(/\]\(([\w./-]*)#([\w-]+)\)/g)) {
        const file = target === "" ? path : join(path, "..", target)
        if (existsSync(join(projectRoot, file)) && !anchorsOf(file).includes(anchor)) dead.push(`${path}: ${target}#${anchor}`)
      }
    }
    expect(dead).to.deep.equal([])
  })

  it("names only files of the source that are there, to who wants to change them", () => {
    // Each page abbreviates paths of one folder.
    const folders = { "CONTRIBUTING.md": "templates/project", "docs/architecture.md": "core", "test/README.md": "test" }
    const names = Object.entries(folders).flatMap(([path, folder]) =>
      [...readPage(path).text.matchAll(/`((?:[\w-]+\/)+[\w.-]*)`/g)].map(([, file = ""]) => ({ path, file, folder })),
    )
    expect(names.map(({ file }) => file)).to.include("core/pipeline/event/process.ts")
    // Excludes paths of a package, of a project's data, and with placeholders.
    const links = names.filter(({ file }) => !/[A-Z]{3}|^(millrace|data)\//.test(file))
    const missing = links.filter(
      ({ file, folder }) => ![file, join(folder, file)].some((candidate) => existsSync(join(projectRoot, candidate))),
    )
    expect(missing.map(({ path, file }) => `${path}: ${file}`)).to.deep.equal([])
  })

  it("is read in an order that its index gives, each page leading to the next", () => {
    const order = readPage("docs/README.md").links.filter((link) => pages.includes(link))
    expect(order).to.deep.equal(pages.slice(1))
    for (const [index, path] of order.slice(0, -1).entries()) expect(readPage(path).links, path).to.include(order[index + 1])
  })
})

function anchorsOf(path: string): string[] {
  return [...readFileSync(join(projectRoot, path), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9 _-]/g, "")
      .replaceAll(" ", "-"),
  )
}

describe("README, what it names", () => {
  const page = readPage("README.md")
  const readme = page.text

  it("names only files and scripts that are there", () => {
    const { scripts } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { scripts: Record<string, string> }
    expect(page.links.filter((path) => !existsSync(join(projectRoot, path)))).to.deep.equal([])
    const folders = [...readme.matchAll(/^\| `([a-z]+\/)`/gm)].map(([, path = ""]) => path)
    expect(folders).to.not.deep.equal([])
    expect(folders.filter((path) => !existsSync(join(projectRoot, path)))).to.deep.equal([])
    const run = [...readme.matchAll(/npm (?:run )?(start|test|generate|millrace)\b/g)].map(([, name = ""]) => name)
    expect(new Set(run)).to.deep.equal(new Set(["start", "test", "generate", "millrace"]))
    for (const name of run) expect(scripts[name], name).to.be.a("string")
  })

  it("names only operations that there are", () => {
    const names = readFileSync(join(projectRoot, "config/api.txt"), "utf8")
    const labels = [...readme.matchAll(/`((?:GET|POST) \/v1\/[^`]+)`/g)].map(([, call = ""]) => call)
    expect(labels).to.not.deep.equal([])
    for (const call of labels) expect(names).to.include(` ${call} `)
  })
})
