// Slugs derived from names, on every resource with slugs: transliterated, numbered if taken, and never in the form of a UUID.
import { expect } from "chai"
import { slugOf } from "../../core/contract/fields.ts"
import { isUuid } from "../../core/kernel/ids.ts"
import { type TestHost, testHost } from "../../core/testing.ts"

const uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

describe("a slug made of a name", () => {
  it("keeps Latin letters and digits, and transliterates a name without Latin letters", () => {
    const created = ["Website Lead", "Café à Paris", "Leads 東京", "Привет, мир", "陳家", "2024"].map((name) => slugOf(name, "pipeline"))
    expect(created).to.deep.equal(["website-lead", "cafe-a-paris", "leads", "privet-mir", "chenjia", "2024"])
  })

  it("is the kind and a short id of the name where nothing is left, the same for the same name", () => {
    expect(slugOf("…", "pipeline")).to.match(/^pipeline-[0-9a-f]{8}$/)
    expect(slugOf("…", "pipeline")).to.equal(slugOf("…", "pipeline"))
    expect(slugOf("…", "pipeline")).to.not.equal(slugOf("— —", "pipeline"))
  })

  it("never reads as a UUID", () => {
    expect(slugOf(uuid, "page")).to.match(/^page-[0-9a-f]{8}$/)
  })
})

describe("slugs of resources", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const variants = [{ key: "a", html: "<p>a</p>" }]
  const resources = [
    { path: "/v1/event-pipelines", make: (name: string) => ({ name, auth_mode: "none", pipeline: [] }), takesSlug: false },
    { path: "/v1/datasets", make: (name: string) => ({ name }), takesSlug: true },
    { path: "/v1/pages", make: (title: string) => ({ title, variants }), takesSlug: true },
  ]

  for (const { path, make, takesSlug } of resources) {
    it(`POST ${path} takes a name in any script, and any name at all`, async () => {
      const slugs: unknown[] = []
      for (const name of ["見込み客", "…", uuid]) {
        const { status, body } = await host.api("POST", path, make(name))
        expect(status, JSON.stringify(body)).to.be.lessThan(300)
        slugs.push((body as { slug: string }).slug)
      }
      const [transliterated, ...rest] = slugs as string[]
      expect(transliterated).to.match(/^[a-z]+(-[a-z]+)*$/)
      for (const slug of rest) expect(slug).to.match(/^[a-z]+-[0-9a-f]{8}$/)
      expect((slugs as string[]).some(isUuid)).to.equal(false)
    })

    if (takesSlug)
      it(`POST ${path} refuses a slug in the form of a UUID, with the field`, async () => {
        const { status, body } = await host.api("POST", path, { ...make("Named"), slug: uuid })
        expect(status).to.equal(400)
        const [field] = (body as { details: { fields: { path: string; message: string }[] } }).details.fields
        expect(field?.path).to.equal("slug")
        expect(field?.message).to.include("not a UUID")
      })
  }
})
