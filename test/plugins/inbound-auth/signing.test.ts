// Signatures made for tests of pipelines verify like the sender's, and only for the same request and secret.
import { expect } from "chai"
import { AppError, type InboundRequest } from "#core"
import { providerRows } from "../../../plugins/inbound-auth/providers/table.ts"
import { signAsProvider, testSecretOf } from "../../../plugins/inbound-auth/signing/sign-as-provider.ts"
import { inbound, providerOf } from "./requests.ts"
import { senders } from "./senders.ts"

const input = { app_key: "app-1", header: "X-Own-Secret" } as const

function signed(slug: string, secret: string): InboundRequest | undefined {
  const row = providerRows.find((providerRow) => providerRow.slug === slug)
  if (!row) throw new Error(`no row ${slug}`)
  const isForm = slug.startsWith("twilio")
  const signsFields = JSON.stringify(row.scheme).includes("{json:")
  const message = senders.find(({ provider }) => provider === slug)?.send("hello", 0)
  const headers = Object.fromEntries(Object.entries(message?.headers ?? {}).filter(([name]) => /-(id|topic|type)$|content-type/.test(name)))
  const request = inbound({ body: isForm || signsFields ? (message?.body ?? "a=1") : '{"a":1}', headers })
  try {
    const parts = signAsProvider({ row, config: configOf(slug), secret, request })
    return {
      ...request,
      headers: { ...request.headers, ...parts.headers },
      query: { ...request.query, ...parts.query },
      url: withQuery(request.url, parts.query),
    }
  } catch (error) {
    if (error instanceof AppError && ["cannot_sign", "request_not_signable"].includes(error.details.reason ?? "")) return undefined
    throw error
  }
}

/** Returns the provider's required settings. */
function configOf(slug: string): Partial<typeof input> {
  const required = providerRows.find((providerRow) => providerRow.slug === slug)?.settings?.required ?? []
  return Object.fromEntries(Object.entries(input).filter(([name]) => required.some((setting) => setting === name)))
}

function withQuery(url: string, query: Readonly<Record<string, string>> = {}): string {
  return Object.keys(query).length === 0 ? url : `${url}?${new URLSearchParams({ ...query }).toString()}`
}

describe("signing for tests", () => {
  const able = providerRows.filter(({ slug, scheme }) => scheme.kind !== "none" && signed(slug, testSecretOf(rowOf(slug))) !== undefined)

  it("says what a request lacks that its signature covers", () => {
    const sign = () => signAsProvider({ row: rowOf("dropbox_sign"), config: {}, secret: "s3cret-s3cret", request: inbound({ body: "{}" }) })
    expect(sign)
      .to.throw(AppError, "event.event_time, which is absent")
      .that.deep.includes({ code: "invalid_argument", details: { reason: "request_not_signable" } })
  })

  it("knows most providers, and says of the others that only they can", () => {
    expect(able.length).to.be.greaterThan(providerRows.length / 2)
    const others = providerRows.filter((row) => !able.includes(row) && row.scheme.kind !== "none").map(({ scheme }) => scheme.kind)
    expect(new Set(others)).to.include("jwt").and.include("ecdsa")
  })

  for (const { slug } of able) {
    it(`${slug}: verifies, and not with another secret`, async () => {
      const secret = testSecretOf(rowOf(slug))
      const request = signed(slug, secret)
      if (!request) throw new Error("not signed")
      const verifier = (value: string) => providerOf(slug, { secrets: [value], config: configOf(slug) })
      const verdict = await verifier(secret).verify(request)
      expect(verdict).to.include({ ok: true })
      const other = secret.startsWith("whsec_")
        ? "whsec_b3RoZXItc2VjcmV0LW90aGVyLXM="
        : secret.includes(":")
          ? "tester:other"
          : secret.replace(/^../, "00")
      expect((await verifier(other).verify(request)).ok).to.equal(false)
    })
  }
})

function rowOf(slug: string) {
  const row = providerRows.find((providerRow) => providerRow.slug === slug)
  if (!row) throw new Error(`no row ${slug}`)
  return row
}
