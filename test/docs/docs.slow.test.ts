// The documentation holds: each page is followed as a reader would, block by block, and leads nowhere that is not there.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"
import { Reader } from "./follow.ts"
import { isAsShown, pageOf, readPage } from "./page.ts"

const pages = ["docs/README.md", "docs/concepts.md", "docs/first-pipeline.md", "docs/first-plugin.md", "docs/operations.md"]
/** Reference pages that show files and what is said of them. */
const references = ["docs/reference/pipeline.md", "docs/reference/tests.md"]

describe("documentation", function () {
  // Each command of a page is a process of its own.
  this.timeout(300_000)

  for (const path of [...pages, ...references]) {
    it(`${path}: every file, command and output is as shown`, async () => {
      const reader = new Reader()
      try {
        await reader.follow(readPage(path))
      } finally {
        await reader.close()
      }
    })
  }

  it("leads only to pages and headings that are there", () => {
    for (const path of [...pages, ...references, "README.md"]) {
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

  it("is not followed blindly: other output than shown, and blocks that nothing is done with, are found", async () => {
    expect(isAsShown("a\nb 12 ms\nc\n", "b … ms\nc")).to.equal(true)
    expect(isAsShown("a\nb\nc\nd\n", "a\n…\nd")).to.equal(true)
    expect(isAsShown("a\nb\nc\n", "a\nc")).to.equal(false)
    expect(isAsShown("1 file, 2 errors\n", "1 file, 0 errors")).to.equal(false)
    const said = async (...blocks: string[]) => {
      const reader = new Reader()
      try {
        await reader.follow(pageOf("page.md", blocks.map((block) => `\`\`\`${block}\n\`\`\`\n`).join("\n")))
        return ""
      } catch (error) {
        return (error as Error).message
      } finally {
        await reader.close()
      }
    }
    expect(
      await said("ts\n// a/b.ts\nexport {}", "sh\ncd a\nFOUND=$(ls)", 'sh\necho "$FOUND in $(basename "$PWD")"', "text\nb.ts in a"),
    ).to.equal("")
    expect(await said("sh\necho one", "text\ntwo")).to.equal("page.md:5: It said something else:\none\n")
    expect(await said("sh\nfalse | true\n", "sh\ntrue")).to.match(/^page\.md:1: It ended with 1/)
    expect(await said("yaml\na: 1")).to.match(/^page\.md:1: A block of yaml that nothing is done with/)
    expect(await said("text\nout of nowhere")).to.include("nothing is done with")
  })
})
