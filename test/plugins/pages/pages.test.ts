// Pages: drafts until publication. Their publication takes effect everywhere at once.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin } from "#core"
import pagesPlugin, { Pages, PublishHooks } from "../../../plugins/pages/pages/index.ts"
import identity from "../../../plugins/platform/identity/index.ts"
import organizations, { ApiKeys, Bootstrap, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { refusalOf } from "../../refusal.ts"
import { ServiceUnderTest } from "../unit-of-work.ts"

interface Resource {
  id: string
  slug: string
  status: string
  revision: number
  variants: { key: string; html: string; weight: number }[]
  published_at: string | null
}

const variants = [
  { key: "control", html: "<h1>A</h1>", weight: 3 },
  { key: "bold", html: "<h1>B</h1>" },
]

const messages: string[] = []
const listening = definePlugin({
  id: "test-listening",
  needs: ["pages"],
  config: z.strictObject({}),
  extend: [
    [
      PublishHooks,
      (_work, organization, page) => {
        messages.push(`${organization.slug}/${page.slug}/${page.status}`)
        if (page.slug === "refused") throw new Error("no")
      },
    ],
  ],
  register: () => undefined,
})

describe("pages", () => {
  let service: ServiceUnderTest
  let home: string
  let stranger: string
  let count = 0

  before(async () => {
    service = await new ServiceUnderTest([identity, organizations, pagesPlugin, listening]).start()
    service.key = service.get(Bootstrap).adminKey ?? undefined
    home = (await service.get(Organizations).first()).id
    stranger = await service.work((work) => {
      const other = service.get(Organizations).create(work, { name: "Elsewhere" })
      const keyOptions = { name: "Key", kind: "api_key", role: "owner", scopes: null, user: null } as const
      return service.get(ApiKeys).mint(work, other.id, keyOptions).text
    })
  })
  after(() => service.remove())
  const call = <T = Resource>(name: string, input: object = {}) => service.call<T>(`pages.${name}`, input)
  const create = (input: object = {}) => call("create", { title: `Page ${++count}`, variants, ...input })
  const published = (id: string, organization = home) => service.get(Pages).published(organization, id)

  it("are made as drafts, slug from title, variants with their defaults", async () => {
    const page = await create({ title: "Spring Sale" })
    expect(page).to.deep.include({ slug: "spring-sale", status: "draft", revision: 1, published_at: null })
    expect(page.variants).to.deep.equal([variants[0], { ...variants[1], weight: 1 }])
    expect((await create({ title: "Spring Sale" })).slug).to.equal("spring-sale-2")
    expect(await call("get", { slug: page.id })).to.deep.equal(await call("get", { slug: "spring-sale" }))
  })

  it("refuse slugs that are taken, and variants that cannot be told apart or shown", async () => {
    await create({ slug: "taken" })
    expect((await refusalOf(create({ slug: "taken" }))).code).to.equal("already_exists")
    for (const wrong of [
      [variants[0], variants[0]],
      [{ key: "a", html: "", weight: 0 }],
      [{ key: "A B", html: "" }],
      [{ key: "a", html: "", weight: -1 }],
    ]) {
      expect((await refusalOf(create({ variants: wrong }))).code).to.equal("invalid_argument")
    }
  })

  it("may have all the HTML that they are said to, and are told how much that is", async () => {
    const of = (size: number, unit = '<p class="a">x</p>\n') => unit.repeat(Math.floor(size / Buffer.byteLength(unit)))
    const largest = [
      { key: "a", html: of(512 * 1_024) },
      { key: "b", html: of(256 * 1_024, "<p>ä</p>") },
    ]
    const page = await create({ variants: largest })
    expect(page.variants.map(({ html }) => html)).to.deep.equal(largest.map(({ html }) => html))
    expect(Buffer.byteLength(JSON.stringify({ title: "x", variants: largest }))).to.be.below(1_048_576)
    for (const html of [of(256 * 1_024 + 100, "<p>ä</p>"), of(512 * 1_024)]) {
      const beyond = [largest[0], { key: "b", html }]
      for (const refused of [create({ variants: beyond }), call("update", { slug: page.slug, variants: beyond })]) {
        const { code, message } = await refusalOf(refused)
        expect([code, message]).to.satisfy(() => code === "invalid_argument" && /the limit of a page is 786432/.test(message), message)
      }
    }
    expect((await refusalOf(create({ variants: [{ key: "a", html: of(512 * 1_024, "x").concat("x") }] }))).code).to.equal(
      "invalid_argument",
    )
  })

  it("are public from publishing until unpublishing, at once both times", async () => {
    const { id, slug } = await create()
    expect(await published(id)).to.equal(false)
    const page = await call("publish", { slug })
    expect(page).to.deep.include({ status: "published", revision: 2 })
    expect(page.published_at).to.be.a("string")
    expect(await published(id)).to.equal(true)
    expect(await call("publish", { slug })).to.deep.equal(page)
    expect(await call("unpublish", { slug })).to.deep.include({ status: "draft", revision: 3, published_at: page.published_at })
    expect(await published(id)).to.equal(false)
    await call("publish", { slug })
    await call("update", { slug, status: "archived" })
    expect(await published(id)).to.equal(false)
  })

  it("are not published for another organization, nor by slug, nor when they are not there", async () => {
    const { id, slug } = await create()
    await call("publish", { slug })
    const other = (await service.get(Organizations).bySlug("elsewhere"))?.id ?? ""
    expect(await published(id, other)).to.equal(false)
    expect(await published(id)).to.equal(true)
    expect(await published(slug)).to.equal(false)
    expect(await published("0190a000-0000-7000-8000-00000000dead")).to.equal(false)
  })

  it("cannot be published without a variant, nor lose the last one while they are", async () => {
    const { slug } = await create({ variants: [] })
    expect((await refusalOf(call("publish", { slug }))).details.reason).to.equal("no_variants")
    await call("update", { slug, variants })
    await call("publish", { slug })
    expect((await refusalOf(call("update", { slug, variants: [] }))).details.reason).to.equal("no_variants")
    expect((await call("get", { slug })).variants).to.have.length(2)
  })

  it("change at the revision they were meant for, and one of two concurrent changes is refused", async () => {
    const { slug } = await create()
    await call("update", { slug, title: "New", expected_revision: 1 })
    const error = await refusalOf(call("update", { slug, title: "Late", expected_revision: 1 }))
    expect([error.code, error.details]).to.deep.equal(["aborted", { reason: "revision_mismatch", current_revision: 2 }])
    const outcomes = await Promise.allSettled([call("update", { slug, title: "One" }), call("update", { slug, title: "Two" })])
    expect(outcomes.filter(({ status }) => status === "fulfilled")).to.not.have.length(0)
    const revision = (await call("get", { slug })).revision
    expect(revision).to.equal(2 + outcomes.filter(({ status }) => status === "fulfilled").length)
  })

  it("tell those who asked to hear of it when they are published, in the same commit", async () => {
    messages.splice(0)
    const { slug } = await create({ slug: "heard" })
    await call("publish", { slug })
    expect(messages).to.deep.equal(["default/heard/published"])
    const refused = await create({ slug: "refused" })
    await call("publish", { slug: "refused" }).then(
      () => expect.fail("was published"),
      () => undefined,
    )
    expect((await call("get", { slug: "refused" })).status).to.equal("draft")
    expect(await published(refused.id)).to.equal(false)
  })

  it("are listed newest first, by status, without their variants", async () => {
    const { slug } = await create()
    await call("publish", { slug })
    const { pages } = await call<{ pages: Resource[] }>("list", { status: "published", limit: 1 })
    expect(pages.map((page) => page.slug)).to.deep.equal([slug])
    expect(pages[0]).to.not.have.property("variants")
    expect(pages[0]).to.not.have.property("organization_id")
  })

  it("are hidden from another organization, by slug and by id", async () => {
    const { id, slug } = await create()
    for (const reference of [id, slug]) {
      for (const name of ["get", "update", "publish", "unpublish"]) {
        const error = await refusalOf(service.call(`pages.${name}`, { slug: reference }, { key: stranger }))
        expect(error.code).to.equal("not_found")
      }
    }
    expect((await service.call<{ pages: unknown[] }>("pages.list", {}, { key: stranger })).pages).to.deep.equal([])
    expect((await call("get", { slug })).revision).to.equal(1)
  })
})
