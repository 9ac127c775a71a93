// Rules of every resource, over HTTP. The examples of the resource give the values.
import { isDeepStrictEqual } from "node:util"
import { expect } from "chai"
import type { z } from "zod"
import { UnitsOfWork } from "#core"
import { type DeclaredResource, Resources } from "../../core/contract/resource.ts"
import { onStoresInTurn } from "../pipeline/stores.ts"
import { openParityFixture, type ParityFixture } from "../surface/parity/fixture.ts"
import { type Answers, giving, liftGates, type Member, members, placed } from "../surface/parity/members.ts"
import { until } from "../waiting.ts"
import { shippedResources } from "./shipped.ts"

/** Keys with a special form, and the reason for a second item with the same key. */
const namedKeys: Readonly<Record<string, { of(n: number): string; readonly taken: string }>> = {
  phone_numbers: { of: (n) => `+4930901820${n}`, taken: "phone_number_registered" },
  sending_domains: { of: (n) => `item-${n}.example.com`, taken: "sending_domain_registered" },
}

/** Fields changed by a job after the creation, and their first value. */
const pending: Readonly<Record<string, readonly [field: string, first: string]>> = { items: ["content_state", "pending"] }

type Item = Record<string, unknown> & { id: string; revision: number; updated_at: string }

onStoresInTurn("each resource", ({ storage }) => {
  let fixture: ParityFixture
  let count = 0
  before(async () => {
    fixture = await openParityFixture(await storage())
  })
  after(() => fixture.host.stop())

  it("is registered", () => {
    const registered = fixture.host.runtime.registry.items(Resources).map(({ collection }) => collection.name)
    expect(registered).to.have.members(shippedResources.map(({ collection }) => collection.name))
  })

  for (const resource of shippedResources) {
    describe(resource.collection.name, () => {
      let bench: Bench
      beforeEach(async () => {
        bench = await Bench.open(fixture, resource, `resource-${++count}`)
      })

      it("answers a created item by key, by id and in the list", async () => {
        const item = await bench.created()
        expect(item).to.include({ revision: 1 })
        for (const ref of [item[resource.identity.key], item.id]) expect(await bench.read(ref)).to.deep.equal(bench.lasting(item))
        if (resource.list) expect(await bench.list()).to.deep.equal([bench.lasting(item)])
      })

      it("changes given fields alone, and counts revisions", async () => {
        const item = await bench.created()
        const change = bench.change(item)
        const changed = bench.unwrapped(await bench.ok("update", { ...bench.pathOf(item), ...change, expected_revision: 1 }))
        expect(changed).to.deep.include({ ...change, revision: 2, id: item.id })
        expect(await bench.read(item.id)).to.deep.equal(changed)
        const { updated_at: _before, ...same } = bench.lasting(item)
        const { updated_at: _after, ...other } = changed
        expect(other).to.deep.equal({ ...same, ...change, revision: 2 })
      })

      it("refuses a change made for an older revision", async () => {
        const item = await bench.created()
        const change = { ...bench.pathOf(item), ...bench.change(item) }
        await bench.ok("update", change)
        await bench.refused("update", { ...change, expected_revision: 1 }, 409, "revision_mismatch")
        expect(await bench.read(item.id)).to.include({ revision: 2 })
      })

      it("lets one of two changes for a revision win", async () => {
        const item = await bench.created()
        const change = { ...bench.pathOf(item), ...bench.change(item), expected_revision: 1 }
        const statuses = (await Promise.all([1, 2].map(() => bench.call("update", change)))).map(({ status }) => status)
        expect(statuses.sort()).to.deep.equal([200, 409])
        expect(await bench.read(item.id)).to.include({ revision: 2 })
      })

      it("takes back an answer as it is, and refuses a changed read-only field", async () => {
        const item = await bench.created()
        const read = await bench.read(item.id)
        const { [resource.identity.key]: _key, ...back } = read
        expect(bench.unwrapped(await bench.ok("update", { ...back, ...bench.pathOf(item) }))).to.deep.equal(read)
        const later = { ...bench.pathOf(item), created_at: "2001-01-01T00:00:00.000Z" }
        await bench.refused("update", later, 400, "read_only_field")
      })

      it("refuses unknown fields by name", async () => {
        const item = await bench.created()
        const answer = await bench.call("update", { ...bench.pathOf(item), no_such_field: 1 })
        expect(answer.status).to.equal(400)
        expect(JSON.stringify(answer.body)).to.include("no_such_field")
      })

      it("numbers slugs of one name, and refuses a taken key", async () => {
        const { key } = resource.identity
        if (key === "id") return
        const [first, second] = [await bench.created(), await bench.call("create", bench.creation())]
        const isGiven = key in bench.creation()
        if (isGiven) expect(second.status).to.equal(409)
        else expect(bench.unwrapped(second.body)[key]).to.equal(`${first[key]}-2`)
        const reason = namedKeys[resource.identity.plural]?.taken ?? "slug_taken"
        await bench.refused("create", { ...bench.creation(), [key]: first[key] }, 409, reason)
      })

      it("pages through all items once", async () => {
        if (!resource.list) return
        const items = await bench.several(3)
        const ids: string[] = []
        let cursor = ""
        do {
          const page = await bench.page({ limit: 1, cursor })
          expect(page.items.length).to.be.at.most(1)
          ids.push(...page.items.map(({ id }) => id))
          cursor = page.next_cursor
        } while (cursor !== "")
        expect(ids).to.have.members(items.map(({ id }) => id))
        // Ids derived from keys have no order.
        if (!namedKeys[resource.identity.plural]) expect(ids).to.deep.equal([...ids].sort().reverse())
      })

      it("deletes an item once", async () => {
        if (!resource.delete) return
        const item = await bench.created()
        expect(await bench.ok("delete", bench.pathOf(item))).to.include({ id: item.id, deleted: true })
        const reason = `${resource.identity.name}_not_found`
        for (const verb of ["get", "update", "delete"] as const) await bench.refused(verb, bench.pathOf(item), 404, reason)
        if (resource.list) expect(await bench.list()).to.deep.equal([])
      })

      it("deletes a second item with the key of a deleted one", async () => {
        if (!resource.delete) return
        const first = await bench.created()
        await bench.ok("delete", bench.pathOf(first))
        const second = await bench.created()
        const { key } = resource.identity
        if (key !== "id") expect(second[key]).to.equal(first[key])
        await bench.ok("delete", bench.pathOf(second))
        if (resource.list) expect(await bench.list()).to.deep.equal([])
      })

      it("restores a deleted item with its fields, and a key that is free", async () => {
        if (!resource.delete || !resource.hasHistory) return
        const item = bench.lasting(await bench.created())
        await bench.ok("delete", bench.pathOf(item))
        expect(await bench.restore(item.id)).to.equal(200)
        const { revision, fields } = bench.split(await bench.read(item.id))
        expect({ revision, fields }).to.deep.equal({ revision: 2, fields: bench.split(item).fields })
        await bench.ok("delete", bench.pathOf(item))
        const second = await bench.created()
        if (resource.identity.key !== "id") expect(await bench.restore(item.id)).to.equal(409)
        expect(await bench.read(second.id)).to.deep.equal(bench.lasting(second))
      })

      it("keeps a version of each revision, and gives an item earlier fields", async () => {
        if (!resource.hasHistory) return
        const item = bench.lasting(await bench.created())
        await bench.ok("update", { ...bench.pathOf(item), ...bench.change(item) })
        const versions = await bench.versions(item.id)
        expect(versions.map(({ revision }) => revision)).to.deep.equal([2, 1])
        expect(await bench.restoreVersion(versions[1]?.id)).to.equal(200)
        const { revision, fields } = bench.split(await bench.read(item.id))
        expect({ revision, fields }).to.deep.equal({ revision: 3, fields: bench.split(item).fields })
      })

      it("shows and changes an item that is older than its fields with a default", async () => {
        const item = bench.lasting(await bench.created())
        await bench.forget(item.id, bench.fieldsWithDefault(item))
        expect(await bench.read(item.id)).to.deep.equal(item)
        if (resource.list) expect(await bench.list()).to.deep.equal([item])
        const change = bench.change(item)
        expect(bench.unwrapped(await bench.ok("update", { ...bench.pathOf(item), ...change }))).to.deep.include({ ...change, revision: 2 })
      })

      it("hides items from another organization", async () => {
        const item = await bench.created()
        const stranger = await Bench.open(fixture, resource, `resource-${++count}`)
        const path = { ...stranger.container, [resource.identity.key]: item.id }
        const reason = `${resource.identity.name}_not_found`
        for (const verb of ["get", "update", "delete"] as const) if (resource[verb]) await stranger.refused(verb, path, 404, reason)
        expect(await bench.read(item.id)).to.deep.equal(bench.lasting(item))
      })
    })
  }
})

type VerbName = "create" | "list" | "get" | "update" | "delete"

/** An organization with the calls of a resource. */
class Bench {
  readonly #fixture: ParityFixture
  readonly #resource: DeclaredResource
  readonly #member: Member
  readonly #options: Answers

  private constructor(fixture: ParityFixture, resource: DeclaredResource, member: Member, answers: Answers) {
    this.#fixture = fixture
    this.#resource = resource
    this.#member = member
    this.#options = answers
  }

  static async open(fixture: ParityFixture, resource: DeclaredResource, slug: string): Promise<Bench> {
    const [member] = (await members(fixture, [slug], resource.create)) as [Member]
    await liftGates(fixture, member)
    return new Bench(fixture, resource, member, await giving(fixture, member, resource.create.examples?.[0]?.given))
  }

  /** Input of the first example. */
  creation(): Record<string, unknown> {
    return placed(this.#resource.create.examples?.[0]?.input, this.#options) as Record<string, unknown>
  }

  /** Path fields of the container. */
  get container(): Record<string, unknown> {
    const { container } = this.#resource.identity
    return container === undefined ? {} : { [container]: this.creation()[container] }
  }

  pathOf(item: Item): Record<string, unknown> {
    const { key } = this.#resource.identity
    return { ...this.container, [key]: item[key] }
  }

  /** The change of the update's example, for this item. */
  change(item: Item): Record<string, unknown> {
    const { key, container = "", name, wrapped } = this.#resource.identity
    const answers = { ...this.#options, [name]: wrapped === undefined ? item : { [wrapped]: item } }
    const {
      [key]: _key,
      [container]: _container,
      expected_revision: _,
      ...change
    } = placed(this.#resource.update.examples?.[0]?.input, answers) as Record<string, unknown>
    return change
  }

  /** Returns fields of the creation with their default value. */
  fieldsWithDefault(item: Item): string[] {
    const shape = this.#resource.create.input.shape as Record<string, z.ZodType>
    const isDefault = ([name, schema]: [string, z.ZodType]) =>
      item[name] !== undefined && isDeepStrictEqual(schema.safeParse(undefined).data, item[name])
    return Object.entries(shape).flatMap((field) => (isDefault(field) ? [field[0]] : []))
  }

  /** Removes fields of the stored item. */
  async forget(id: string, fields: readonly string[]): Promise<void> {
    const { host } = this.#fixture
    await host.get(UnitsOfWork).run((work) => {
      const $unset = Object.fromEntries(fields.map((field) => [field, true as const]))
      if (fields.length > 0) work.in(this.#resource.collection, this.#member.organization.id).update(id, { $unset })
    })
  }

  async created(): Promise<Item> {
    const item = this.unwrapped(await this.ok("create", this.creation()))
    const [field = "", first] = pending[this.#resource.identity.plural] ?? []
    if (field === "") return item
    return until("the job of the new item", async () => {
      const read = await this.read(item.id)
      return read[field] === first ? undefined : read
    })
  }

  /** Creates items with different keys. */
  async several(count: number): Promise<Item[]> {
    const { key, plural } = this.#resource.identity
    const items: Item[] = []
    for (let n = 1; n <= count; n++) {
      const own = key === "id" ? {} : { [key]: namedKeys[plural]?.of(n) ?? `item-${n}` }
      items.push(this.unwrapped(await this.ok("create", { ...this.creation(), ...own })))
    }
    return items
  }

  /** Without fields of the creation's answer. */
  lasting(item: Item): Item {
    const once = new Set(this.#resource.create.secretOutput ?? [])
    return Object.fromEntries(Object.entries(item).filter(([name]) => !once.has(name))) as Item
  }

  unwrapped(body: unknown): Item {
    const { wrapped } = this.#resource.identity
    return (wrapped === undefined ? body : (body as Record<string, unknown>)[wrapped]) as Item
  }

  async read(ref: unknown): Promise<Item> {
    return (await this.ok("get", { ...this.container, [this.#resource.identity.key]: ref })) as Item
  }

  async page(input: Record<string, unknown>): Promise<{ items: Item[]; next_cursor: string }> {
    const body = (await this.ok("list", { ...this.container, ...input })) as Record<string, unknown>
    return { items: body[this.#resource.identity.plural] as Item[], next_cursor: String(body["next_cursor"]) }
  }

  async list(): Promise<Item[]> {
    return (await this.page({})).items
  }

  async ok(verb: VerbName, input: Record<string, unknown>): Promise<unknown> {
    const { status, body } = await this.call(verb, input)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  async refused(verb: VerbName, input: Record<string, unknown>, status: number, reason: string): Promise<void> {
    const answer = await this.call(verb, input)
    const { details } = answer.body as { details?: { reason?: string } }
    expect({ status: answer.status, reason: details?.reason }, JSON.stringify(answer.body)).to.deep.equal({ status, reason })
  }

  /** Splits an item into its revision and its writable fields. */
  split(item: Item): { readonly revision: number; readonly fields: Record<string, unknown> } {
    const writes = new Set(Object.keys(this.#resource.update.input.shape))
    const readOnly = new Set(
      Object.entries(this.#resource.update.input.shape as object).flatMap(([name, field]) => (field?.meta?.()?.readOnly ? [name] : [])),
    )
    return {
      revision: item.revision,
      fields: Object.fromEntries(Object.entries(item).filter(([name]) => writes.has(name) && !readOnly.has(name))),
    }
  }

  async restore(id: string): Promise<number> {
    return (await this.#fixture.host.api("POST", `/v1/trash/${id}/restore`, undefined, { key: this.#member.key })).status
  }

  async versions(id: string): Promise<{ id: string; revision: number }[]> {
    const path = `/v1/versions?resource=${this.#resource.identity.name}&item_id=${id}`
    const { body } = await this.#fixture.host.api<{ versions: { id: string; revision: number }[] }>("GET", path, undefined, {
      key: this.#member.key,
    })
    return body.versions
  }

  async restoreVersion(id: string | undefined): Promise<number> {
    return (await this.#fixture.host.api("POST", `/v1/versions/${id}/restore`, undefined, { key: this.#member.key })).status
  }

  /** Sends fields of the path in the path, and others in the query or the body. */
  call(verb: VerbName, input: Record<string, unknown>) {
    const { method, path } = (this.#resource[verb] ?? expect.fail(`no operation ${verb}`)).http
    const others = { ...input }
    const at = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
      const value = String(others[field])
      delete others[field]
      return encodeURIComponent(value)
    })
    const query = new URLSearchParams(Object.entries(others).map(([name, value]): [string, string] => [name, String(value)]))
    const isRead = method === "GET" || method === "DELETE"
    const key = { key: this.#member.key }
    return this.#fixture.host.api(method, isRead ? `${at}?${query}` : at, isRead ? undefined : others, key)
  }
}
