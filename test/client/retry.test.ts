// Properties of the client's own decisions: retries, and the target of a call.
import { expect } from "chai"
import fc from "fast-check"
import { errorOf, streamOf } from "../../core/client/answer.ts"
import { createCaller } from "../../core/client/caller.ts"
import { ClientError } from "../../core/client/error.ts"
import { defaultRetries, delayBeforeNext } from "../../core/client/retry.ts"
import { type ClientRoute, requestOf } from "../../core/client/route.ts"
import { type ErrorCode, httpStatusOf } from "../../core/kernel/errors.ts"

const code = fc.constantFrom(...(Object.keys(httpStatusOf) as ErrorCode[]))

describe("retries of the client", () => {
  it("wait at least as asked, at most the backoff more, and end", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.option(fc.integer({ min: 0, max: 60 })),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempt, requestCount, chance) => {
          const error = new ClientError("unavailable", "", {}, { retryAfterS: requestCount ?? undefined })
          const delay = delayBeforeNext({
            attempt,
            error,
            route: { method: "GET", path: "/", repeatable: true },
            policy: defaultRetries,
            random: () => chance,
          })
          const askedMs = (requestCount ?? 0) * 1_000
          if (attempt >= defaultRetries.attempts || askedMs > defaultRetries.maxRetryAfterMs) return void expect(delay).to.equal(undefined)
          expect(delay).to.be.within(
            askedMs,
            askedMs + Math.min(defaultRetries.maxDelayMs, defaultRetries.firstDelayMs * 2 ** (attempt - 1)),
          )
        },
      ),
    )
  })

  it("never repeat what may not be done twice, except what was refused unseen", () => {
    fc.assert(
      fc.property(
        code,
        fc.constantFrom(undefined, "rate_limited", "still_running", "no_response"),
        fc.boolean(),
        (value, reason, committed) => {
          const error = new ClientError(value, "", { ...(reason ? { reason } : {}), ...(committed ? { committed } : {}) })
          const delayFor = (route: ClientRoute) => delayBeforeNext({ attempt: 1, error, route, policy: defaultRetries })
          const plain = delayFor({ method: "DELETE", path: "/" })
          expect(plain !== undefined).to.equal(reason === "rate_limited" && !committed)
          if (committed) expect(delayFor({ method: "POST", path: "/", keyed: true })).to.equal(undefined)
        },
      ),
    )
  })
})

describe("answers of the client", () => {
  const retryAfter = async (value: string) =>
    (await errorOf(new Response("", { status: 503, headers: { "retry-after": value } }))).retryAfterS

  it("tell how long to wait, by seconds or by a date, and never less than nothing", async () => {
    expect(await retryAfter("7")).to.equal(7)
    const began = Date.now()
    const reportCount = await retryAfter(new Date(began + 3_600_000).toUTCString())
    // The date has no milliseconds, and time passes.
    expect(reportCount).to.be.within(3_599 - Math.ceil((Date.now() - began) / 1_000), 3_600)
    expect(await retryAfter(new Date(Date.now() - 60_000).toUTCString())).to.equal(0)
    for (const none of ["-5", "soon", "", "0x10", "Infinity"]) expect(await retryAfter(none), none).to.equal(undefined)
  })

  it("name an export's file, and go without a name that is broken", () => {
    const streamNamed = (disposition: string) => streamOf(new Response("", { headers: { "content-disposition": disposition } })).fileName
    expect(streamNamed("attachment; filename=\"leads.csv\"; filename*=UTF-8''l%C3%A9ads.csv")).to.equal("léads.csv")
    expect(streamNamed("attachment; filename=\"leads.csv\"; filename*=UTF-8''l%E9ads%.csv")).to.equal("leads.csv")
    expect(streamNamed("attachment; filename*=UTF-8''%")).to.equal("")
  })
})

describe("requests of the client", () => {
  it("keep any text of a path in its own segment", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (slug) => {
        let path: string
        try {
          path = requestOf({ method: "GET", path: "/v1/a/{slug}/rows" }, { slug }).path
        } catch (error) {
          expect(slug === "." || slug === ".." || !slug.isWellFormed()).to.equal(true)
          return void expect(error).to.be.instanceOf(ClientError)
        }
        const segments = new URL(path, "http://host").pathname.split("/")
        expect(segments).to.have.length(5)
        expect(decodeURIComponent(segments[3] ?? "")).to.equal(slug)
      }),
    )
  })

  it("name the field that no path can carry", () => {
    for (const slug of [".", "..", "", "\ud800", undefined]) {
      const call = () => requestOf({ method: "PUT", path: "/v1/event-pipelines/{slug}" }, { slug, name: "n" })
      expect(call, String(slug))
        .to.throw(ClientError)
        .that.deep.includes({ code: "invalid_argument" })
        .with.nested.property("details.fields[0].path", "slug")
    }
  })

  it("carry every other field in query or body", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.boolean())),
        (fields) => {
          const { slug: _slug, ...rest } = fields
          const query = requestOf({ method: "GET", path: "/v1/a" }, rest)
          expect(query.body).to.equal(undefined)
          const read = Object.fromEntries(new URL(query.path, "http://host").searchParams)
          expect(read).to.deep.equal(Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])))
          const { path, body } = requestOf({ method: "PUT", path: "/v1/a/{slug}" }, { ...rest, slug: "s" })
          expect([path, JSON.parse(body ?? "")]).to.deep.equal(["/v1/a/s", rest])
        },
      ),
    )
  })
})

describe("calls of the client", () => {
  const routes = {
    "datasets.delete_row": { method: "DELETE", path: "/v1/datasets/{slug}/rows/{id}", repeatable: true },
    "datasets.create": { method: "POST", path: "/v1/datasets", keyed: true },
  } as const
  const notFound = () => Response.json({ code: "not_found", message: "The row does not exist.", details: {} }, { status: 404 })
  const callerOver = (answers: (() => Response)[], options = {}) => {
    let calls = 0
    const send = async () => (answers[calls++] ?? notFound)()
    const call = createCaller(routes, { baseUrl: "http://h", key: "k", retries: { firstDelayMs: 0 }, fetch: send, ...options })
    return { call, calls: () => calls }
  }
  const refusal = async (promise: Promise<unknown>) => {
    const error = await promise.then(
      () => undefined,
      (failure: unknown) => failure,
    )
    if (!(error instanceof ClientError)) throw new Error(`no ClientError: ${String(error)}`)
    return error
  }
  const row = { slug: "leads", id: "r-1" }

  it("take a deletion as done that is not found any more after an answer was lost, and only then", async () => {
    const lost = () => {
      throw new TypeError("fetch failed")
    }
    expect(await callerOver([lost, notFound]).call("datasets.delete_row", row)).to.deep.equal({ id: "r-1", deleted: true })
    expect((await refusal(callerOver([notFound]).call("datasets.delete_row", row))).code).to.equal("not_found")
    const busy = () => Response.json({ code: "resource_exhausted", message: "", details: { reason: "rate_limited" } }, { status: 429 })
    expect((await refusal(callerOver([busy, notFound]).call("datasets.delete_row", row))).code).to.equal("not_found")
  })

  it("refuse what a header cannot carry by the option's name, without showing the key", async () => {
    const of = async (options: object, own = {}) => {
      const { call, calls } = callerOver([], options)
      const error = await refusal(call("datasets.create", {}, own))
      expect([error.code, error.details.reason, calls()]).to.deep.equal(["invalid_argument", "invalid_option", 0])
      return error
    }
    const key = await of({ key: "“hunter2”" })
    expect(key.message)
      .to.match(/^key: holds "“"/)
      .and.not.include("hunter2")
    expect((await of({ organization: "☃" })).details["option"]).to.equal("organization")
    expect((await of({}, { idempotencyKey: "a\nb" })).message).to.match(/^idempotencyKey: holds a control character/)
  })
})
