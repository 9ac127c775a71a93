// Checks one operation against each convention over HTTP, in an organization with its example's data.
import { request as rawRequest } from "node:http"
import { expect } from "chai"
import { readOnlyNote } from "#core"
import { clientRoute } from "../../../core/cli/client-operations.ts"
import { requestOf } from "../../../core/client/route.ts"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import type { Member } from "./members.ts"
import type { Input } from "./surfaces.ts"

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: {
    code?: string
    details?: { reason?: string; fields?: { path: string }[]; [name: string]: unknown }
    [name: string]: unknown
  }
}

export class Scene {
  readonly #url: string
  readonly #operation: AnyOperation
  readonly #member: Member
  readonly #input: Input

  constructor(url: string, operation: AnyOperation, member: Member, input: Input) {
    this.#url = url
    this.#operation = operation
    this.#member = member
    this.#input = input
  }

  async #call(input: Input, headers: Record<string, string> = {}, method?: string, body?: string): Promise<Answer> {
    const request = requestOf(clientRoute(this.#operation), input)
    const payload = body ?? request.body
    const response = await fetch(this.#url + request.path, {
      method: method ?? request.method,
      headers: {
        authorization: `Bearer ${this.#member.key}`,
        ...(payload === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(payload === undefined || method === "HEAD" ? {} : { body: payload }),
    })
    const text = await response.text()
    const isJson = text !== "" && response.headers.get("content-type")?.startsWith("application/json")
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? (JSON.parse(text) as Answer["body"]) : {},
    }
  }

  async answersWell(): Promise<void> {
    const { http, streams } = this.#operation
    const { status, headers, text } = await this.#call(this.#input, { "x-request-id": "walk-1_2=3.4" })
    expect(status, text.slice(0, 500)).to.equal(http.status ?? 200)
    expect(headers.get("x-request-id")).to.equal("walk-1_2=3.4")
    expect(headers.get("ratelimit-policy")).to.match(/^"key";q=\d+;w=60, "organization";q=\d+;w=60$/)
    expect(headers.get("ratelimit")).to.match(/^"key";r=\d+;t=\d+, "organization";r=\d+;t=\d+$/)
    expect(headers.get("x-content-type-options")).to.equal("nosniff")
    expect(headers.get("cache-control")).to.equal(http.method === "GET" && !streams ? "private, no-cache" : "no-store")
    if (!streams) expect(headers.get("content-type")).to.equal("application/json; charset=utf-8")
    const minted = await this.#call(this.#input, { "x-request-id": "not well formed" })
    expect(minted.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/)
  }

  async refusesOtherMethods(): Promise<void> {
    const options = await this.#call(this.#input, {}, "OPTIONS", "")
    const allow = (options.headers.get("allow") ?? "").split(", ")
    expect([options.status, options.text]).to.deep.equal([204, ""])
    expect(allow).to.include.members([this.#operation.http.method, "OPTIONS"])
    expect(allow.includes("HEAD")).to.equal(allow.includes("GET"))
    const other = ["DELETE", "PUT", "PATCH", "POST", "PROPFIND"].find((method) => !allow.includes(method)) ?? ""
    const refused = await this.#call(this.#input, {}, other)
    expect([refused.status, refused.body.code, refused.headers.get("allow")], refused.text).to.deep.equal([
      405,
      "unimplemented",
      allow.join(", "),
    ])
  }

  async refusesOtherBodies(): Promise<void> {
    for (const [headers, body, status, reason] of [
      [{ "content-type": "text/plain" }, "{}", 415, "unsupported_content_type"],
      [{ "content-type": "application/json; charset=latin1" }, "{}", 415, "unsupported_charset"],
      [{ "content-encoding": "gzip" }, "{}", 400, "malformed_body"],
      [{ "content-encoding": "compress" }, "{}", 415, "unsupported_content_encoding"],
      [{}, "{", 400, "malformed_body"],
      [{}, "[]", 400, "body_not_an_object"],
    ] as const) {
      const answer = await this.#call(this.#input, headers, undefined, body)
      expect([answer.status, answer.body.code, answer.body.details?.reason], answer.text).to.deep.equal([
        status,
        "invalid_argument",
        reason,
      ])
    }
    const large = await this.#call(this.#input, {}, undefined, `{"x":"${"x".repeat(1_100_000)}"}`)
    expect([large.status, large.body.code]).to.deep.equal([413, "resource_exhausted"])
  }

  /** Expects unknown fields by name, and an error for each known field. */
  async refusesEveryWrongField(fields: readonly string[]): Promise<void> {
    const inPath = new Set([...this.#operation.http.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    const bodyFields = fields.filter((name) => !inPath.has(name))
    const wrong = Object.fromEntries(bodyFields.map((name) => [name, { wrong: { "": [null] } }]))
    const { status, body, text } = await this.#call({ ...this.#input, ...wrong, unknwon: "1", other_unknwon: "2" })
    expect([status, body.code, body.details?.reason], text).to.deep.equal([400, "invalid_argument", "invalid_fields"])
    const paths = (body.details?.fields ?? []).map(({ path }) => path.split(".")[0])
    expect(paths).to.include.members(["unknwon", "other_unknwon"])
    const scalars = (wireSchema(this.#operation.input, "input")["properties"] ?? {}) as Record<string, { type?: unknown }>
    const typed = bodyFields.filter((name) => ["integer", "number", "boolean"].includes(String(scalars[name]?.type)))
    expect(paths, text).to.include.members(typed)
  }

  async answersPages(origin: string): Promise<void> {
    const preflight = { origin, "access-control-request-method": this.#operation.http.method }
    const response = await this.#call(this.#input, preflight, "OPTIONS", "")
    expect(response.headers.get("access-control-allow-origin")).to.equal(origin)
    expect(response.headers.get("access-control-allow-methods")).to.include(this.#operation.http.method)
    const foreign = await this.#call(this.#input, { ...preflight, origin: "https://evil.example.test" }, "OPTIONS", "")
    expect(foreign.headers.has("access-control-allow-origin")).to.equal(false)
  }

  async answersConditionally(): Promise<void> {
    const get = await this.#call(this.#input)
    const head = await this.#call(this.#input, {}, "HEAD")
    expect([head.status, head.text, head.headers.get("content-type")]).to.deep.equal([200, "", get.headers.get("content-type")])
    expect(get.headers.get("etag")).to.match(/^W\/"[\w-]+"$/)
    let [known, again] = [get, await this.#known(get)]
    // Some answers contain a clock or background data. Such a change returns a new answer with a new ETag.
    for (; again.status !== 304; [known, again] = [again, await this.#known(again)])
      expect([again.status, again.text === known.text], again.text).to.deep.equal([200, false])
    expect([again.text, again.headers.get("etag")]).to.deep.equal(["", known.headers.get("etag")])
    expect((await this.#call(this.#input, { "if-none-match": '"another"' })).status).to.equal(200)
    const packed = await this.#encoding("gzip")
    expect(packed.vary).to.match(/accept-encoding/i)
    expect(packed.encoding).to.equal(Buffer.byteLength(get.text) >= 1_024 ? "gzip" : undefined)
    expect((await this.#encoding("identity")).encoding).to.equal(undefined)
  }

  #known({ headers }: Answer): Promise<Answer> {
    return this.#call(this.#input, { "if-none-match": `"another", ${headers.get("etag")}` })
  }

  #encoding(accepted: string): Promise<{ encoding: string | undefined; vary: string | undefined }> {
    const { path } = requestOf(clientRoute(this.#operation), this.#input)
    const headers = { authorization: `Bearer ${this.#member.key}`, "accept-encoding": accepted }
    return new Promise((resolve, reject) => {
      rawRequest(this.#url + path, { headers }, (response) => {
        response.resume()
        response.on("end", () => resolve({ encoding: response.headers["content-encoding"], vary: response.headers.vary }))
      })
        .on("error", reject)
        .end()
    })
  }

  async pages(): Promise<void> {
    const whole = await this.#call({ ...this.#input, limit: 200 })
    const [list = ""] = Object.keys(whole.body).filter((name) => Array.isArray(whole.body[name]))
    const items = whole.body[list] as unknown[]
    expect([whole.status, whole.body["next_cursor"]], whole.text.slice(0, 300)).to.deep.equal([200, ""])
    const bodies: unknown[] = []
    let cursor = ""
    do {
      const { body, text } = await this.#call({ ...this.#input, limit: 1, cursor })
      const page = body[list] as unknown[]
      expect(page.length, text).to.equal(items.length === 0 ? 0 : 1)
      bodies.push(...page)
      cursor = String(body["next_cursor"])
    } while (cursor !== "" && bodies.length <= items.length)
    expect(bodies.map(idOf)).to.deep.equal(items.map(idOf))
    expect((await this.#call({ ...this.#input, limit: 0 })).status).to.equal(200)
    expect((await this.#call({ ...this.#input, limit: 1_000_000_000 })).status).to.equal(200)
    const negative = await this.#call({ ...this.#input, limit: -1 })
    expect([negative.status, negative.body.details?.fields?.[0]?.path]).to.deep.equal([400, "limit"])
    const foreign = await this.#call({ ...this.#input, cursor: "bm9uZQ.AAAAAAAAAAAAAAAAAAAAAA" })
    expect([foreign.status, foreign.body.details?.reason]).to.deep.equal([400, "invalid_cursor"])
  }

  async repeats(): Promise<void> {
    const { secretOutput = [] } = this.#operation
    const before = await this.#changes()
    const first = await this.#call(this.#input, { "idempotency-key": "walk" })
    expect(first.headers.has("idempotency-replayed"), first.text).to.equal(false)
    for (const key of ["walk", '"walk"']) {
      const again = await this.#call(this.#input, { "idempotency-key": key })
      expect([again.status, again.headers.get("idempotency-replayed")], again.text).to.deep.equal([first.status, "true"])
      const { details: _omitted, ...problem } = again.body
      const isShown = ([field, value]: [string, unknown]) => value === null || !secretOutput.includes(field)
      const expected = Object.fromEntries(Object.entries(first.body).filter(isShown))
      expect(secretOutput.length > 0 ? problem : again.body).to.deep.equal(expected)
      for (const secret of secretOutput) if (typeof first.body[secret] === "string") expect(again.text).to.not.include(first.body[secret])
    }
    const changed = Object.keys(this.#input).find((field) => !this.#operation.http.path.includes(`{${field}}`))
    if (changed !== undefined) {
      const other = await this.#call({ ...this.#input, [changed]: varied(this.#input[changed]) }, { "idempotency-key": "walk" })
      if (other.body.details?.reason !== "invalid_fields")
        expect([other.status, other.body.details?.reason], other.text).to.deep.equal([400, "idempotency_key_reused"])
    }
    expect(await this.#changes()).to.equal(before + 1)
  }

  async #changes(): Promise<number> {
    const url = `${this.#url}/v1/audit-log?limit=200&operation=${this.#operation.name}`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${this.#member.key}` } })
    return ((await answer.json()) as { audit_log: unknown[] }).audit_log.length
  }

  /** Checks by the example's path, and by the resource's id. */
  async takesBackWhatIsRead(read: AnyOperation): Promise<void> {
    const [, parameter = ""] = /\{(\w+)\}/.exec(this.#operation.http.path) ?? []
    const path = (value: unknown) => this.#operation.http.path.replace(`{${parameter}}`, encodeURIComponent(String(value)))
    const send = async (method: string, at: string, body?: unknown) => {
      const headers = { authorization: `Bearer ${this.#member.key}`, "content-type": "application/json" }
      const answer = await fetch(this.#url + at, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
      return { status: answer.status, body: (await answer.json()) as Answer["body"] }
    }
    const resource = (await send("GET", path(this.#input[parameter]))).body
    const stays = ({ revision: _revision, updated_at: _updated, ...rest }: Answer["body"]) => rest
    if (parameter !== "") expect(resource[parameter], `${read.name} shows "${parameter}"`).to.be.a("string")
    for (const at of new Set([path(resource[parameter]), path(resource["id"])])) {
      const now = (await send("GET", at)).body
      const { status, body } = await send("PUT", at, now)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(stays((await send("GET", at)).body)).to.deep.equal(stays(resource))
    }
    for (const [field, value] of Object.entries(resource)) {
      if (field !== parameter && writableIn(this.#operation, field)) continue
      const other = typeof value === "number" ? value + 1 : [value, "other"]
      const { status, body } = await send("PUT", path(resource["id"]), { ...(parameter === "" ? resource : {}), [field]: other })
      expect([status, body.code], `${field}: ${JSON.stringify(body)}`).to.deep.equal([400, "invalid_argument"])
      expect(body.details?.fields?.[0]?.path, JSON.stringify(body)).to.equal(field)
    }
    if (parameter !== "") {
      const elsewhere = await send("PUT", path(resource["id"]), { [parameter]: "another-one" })
      expect([elsewhere.status, elsewhere.body.details?.reason]).to.deep.equal([400, "path_field_mismatch"])
    }
    expect(stays((await send("GET", path(resource["id"]))).body)).to.deep.equal(stays(resource))
  }

  async refusesOtherRevision(): Promise<void> {
    const { status, body, text } = await this.#call({ ...this.#input, expected_revision: 1_000_000 })
    expect([status, body.code, body.details?.reason], text).to.deep.equal([409, "aborted", "revision_mismatch"])
    expect(body.details?.["current_revision"]).to.equal(this.#input["expected_revision"])
    const right = await this.#call(this.#input)
    expect(right.status, right.text).to.equal(200)
  }
}

/** Returns true if a field may be sent with another value than the one read. */
function writableIn({ input }: AnyOperation, field: string): boolean {
  const fields = (wireSchema(input, "input")["properties"] ?? {}) as Record<string, { description?: string }>
  return fields[field] !== undefined && fields[field].description !== readOnlyNote
}

function idOf(item: unknown): unknown {
  return (item as { id?: unknown; user_id?: unknown }).id ?? (item as { user_id?: unknown }).user_id
}

function varied(value: unknown): unknown {
  if (typeof value === "string") return `${value} x`
  if (typeof value === "number") return value + 1
  if (typeof value === "boolean") return !value
  return Array.isArray(value) ? [...value, ...value] : { ...(value as object), more: 1 }
}
