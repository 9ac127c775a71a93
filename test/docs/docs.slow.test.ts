import { expect } from "chai"
import { Reader } from "./follow.ts"
import { isAsShown, pageOf, pages, readPage, references } from "./page.ts"

describe("documentation", function () {
  // A page has many commands.
  this.timeout(900_000)

  for (const path of [...pages, ...references]) {
    it(`${path}: every file, command and output is as shown`, async () => {
      const reader = new Reader({ withSample: path === "docs/first-pipeline.md" })
      try {
        await reader.follow(readPage(path))
      } finally {
        await reader.close()
      }
    })
  }

  it("holds for `npm run dev`: what is saved is live", async () => {
    const reader = new Reader({ withSample: true })
    const blocks = [
      "yaml\n# pipelines/saved.yaml\nname: Saved\nauth_mode: none\npipeline:\n  - { type: respond, status: 201, body: {} }",
      "sh\nnpm run dev",
      "sh\nsed -i 's/201/202/' pipelines/saved.yaml",
      "sh\nuntil npx millrace event-pipelines get saved --json | grep -c '\"status\": 202'; do :; done",
      "text\n1",
    ]
    try {
      await reader.follow(pageOf("dev.md", blocks.map((block) => `\`\`\`${block}\n\`\`\`\n`).join("\n")))
    } finally {
      await reader.close()
    }
  })

  it("is not followed blindly: other output than shown, and blocks that nothing is done with, are found", async () => {
    expect(isAsShown("a\nb 12 ms\nc\n", "b … ms\nc")).to.equal(true)
    expect(isAsShown("a\nb\nc\nd\n", "a\n…\nd")).to.equal(true)
    expect(isAsShown("a\nb\nc\n", "a\nc")).to.equal(false)
    expect(isAsShown("1 file, 2 errors\n", "1 file, 0 errors")).to.equal(false)
    const outputOf = async (...blocks: string[]) => {
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
      await outputOf("ts\n// a/b.ts\nexport {}", "sh\ncd a\nFOUND=$(ls)", 'sh\necho "$FOUND in $(basename "$PWD")"', "text\nb.ts in a"),
    ).to.equal("")
    expect(await outputOf("sh\necho one", "text\ntwo")).to.equal("page.md:5: It said something else:\none\n")
    expect(await outputOf("sh\nfalse | true\n", "sh\ntrue")).to.match(/^page\.md:1: It ended with 1/)
    expect(await outputOf("yaml\na: 1")).to.match(/^page\.md:1: A block of yaml that nothing is done with/)
    expect(await outputOf("text\nout of nowhere")).to.include("nothing is done with")
  })
})
