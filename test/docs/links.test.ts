// What the documentation and the README name is there: pages, headings, files, scripts, operations.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"
import { pages, readPage, references } from "./page.ts"

describe("documentation, what it names", () => {
  it("leads only to pages and headings that are there", () => {
    for (const path of [...pages, ...references, "docs/browser.md", "README.md"]) {
      const { text, links } = readPage(path)
      expect(links.length, path).to.be.at.least(1)
      expect(
        links.filter((link) => !existsSync(join(projectRoot, link))),
        path,
      ).to.deep.equal([])
      for (const [, target = "", anchor = ""] of text.matchAll(/\]\(([\w./-]+\.md)#([\w-]+)\)/g)) {
        const headings = [...readFileSync(join(projectRoot, path, "..", target), "utf8").matchAll(/^#+ (.*)$/gm)].map(
          ([, title = ""]) => title,
        )
        expect(
          headings.map((title) =>
            title
              .toLowerCase()
              .replaceAll(/[^a-z0-9 _-]/g, "")
              .replaceAll(" ", "-"),
          ),
        ).to.include(anchor)
      }
    }
  })

  it("is read in an order that its index gives, each page leading to the next", () => {
    const order = readPage("docs/README.md").links.filter((link) => pages.includes(link))
    expect(order).to.deep.equal(pages.slice(1))
    for (const [index, path] of order.slice(0, -1).entries()) expect(readPage(path).links, path).to.include(order[index + 1])
  })
})

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
    const { paths } = JSON.parse(readFileSync(join(projectRoot, "config/openapi.json"), "utf8")) as { paths: Record<string, object> }
    const named = [...readme.matchAll(/`(GET|POST) (\/v1\/[^`]+)`/g)]
    expect(named).to.not.deep.equal([])
    for (const [whole, method = "", path = ""] of named) expect(paths[path], whole).to.have.property(method.toLowerCase())
  })
})
