// Signed webhooks published by providers: each verifies unchanged, and fails after any change.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { causeOf, form, inbound, providerOf } from "./requests.ts"

interface Vector {
  readonly provider: string
  readonly secret: string
  readonly method?: string
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly form?: readonly (readonly [string, string])[]
  readonly now?: number
  readonly source: string
}

const folder = process.env["MILLRACE_TEST_VECTORS"] ?? join(import.meta.dirname, "../../../../shared/vectors")
const file = join(folder, "signatures.json")

describe("published signature vectors", () => {
  if (!existsSync(file)) {
    it("are not here", function () {
      console.warn(`\n*** NOT TESTED: published signature vectors. ${file} is absent; set MILLRACE_TEST_VECTORS to their folder. ***\n`)
      this.skip()
    })
    return
  }
  const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { readonly vectors: readonly Vector[] }

  it("are several", () => expect(vectors.length).to.be.at.least(5))

  for (const vector of vectors) {
    describe(`${vector.provider}: ${vector.source}`, () => {
      const body = Buffer.from(vector.body ?? form(vector.form ?? []))
      const receivedAt = vector.now === undefined ? sentAt(vector) : vector.now * 1_000
      const request = {
        headers: vector.headers,
        body,
        receivedAt,
        ...(vector.url && { url: vector.url }),
        ...(vector.method && { method: vector.method }),
      }
      const judge = async (change: Partial<typeof request>, secret = vector.secret) =>
        causeOf(await providerOf(vector.provider, { secrets: [secret] }).verify(inbound({ ...request, ...change })))

      it("verifies as it stands", async () => expect(await judge({})).to.equal("ok"))

      it("fails with any byte of the body changed", async () => {
        for (let index = 0; index < body.length; index++) {
          const changed = Buffer.from(body)
          changed[index] = (changed[index] ?? 0) ^ 1
          // Twilio signs the fields, not their spelling. A change with equal fields keeps the signature valid.
          if (vector.form && sameFields(changed, body)) continue
          expect(await judge({ body: changed }), `byte ${index}`).not.to.equal("ok")
        }
        expect(await judge({ body: body.subarray(1) })).not.to.equal("ok")
        expect(await judge({ body: Buffer.concat([body, Buffer.from(vector.form ? "&x=y" : " ")]) })).not.to.equal("ok")
      })

      it("fails with any character of the secret changed", async () => {
        for (let index = 0; index < vector.secret.length; index++) {
          const changed = flipped(vector.secret, index)
          expect(await judge({}, changed), `character ${index}: ${changed}`).not.to.equal("ok")
        }
      })

      it("fails with any character of any signature header changed, or without it", async () => {
        for (const [name, value] of Object.entries(vector.headers)) {
          if (name === "content-type") continue
          for (let index = 0; index < value.length; index++) {
            expect(await judge({ headers: { ...vector.headers, [name]: flipped(value, index) } }), `${name} at ${index}`).not.to.equal("ok")
          }
          const { [name]: _left, ...rest } = vector.headers
          expect(await judge({ headers: rest }), `without ${name}`).to.be.oneOf(["missing_header", "timestamp_missing"])
        }
      })

      if (Object.keys(vector.headers).some((name) => name.includes("timestamp"))) {
        it("fails outside the window, to both sides", async () => {
          expect(await judge({ receivedAt: receivedAt + 299_000 })).to.equal("ok")
          expect(await judge({ receivedAt: receivedAt + 301_000 })).to.equal("timestamp_too_old")
          expect(await judge({ receivedAt: receivedAt - 301_000 })).to.equal("timestamp_in_future")
        })
      }
    })
  }
})

/** Without a time in the vector, uses its timestamp header. */
function sentAt(vector: Vector): number {
  const stamp = Object.entries(vector.headers).find(([name]) => name.includes("timestamp"))?.[1]
  return stamp === undefined ? Date.now() : Number(stamp) * 1_000
}

function sameFields(left: Buffer, right: Buffer): boolean {
  const sorted = (body: Buffer) =>
    [...new URLSearchParams(body.toString("utf8"))]
      .map((pair) => pair.join("\0"))
      .sort()
      .join("\n")
  return sorted(left) === sorted(right)
}

function flipped(text: string, index: number): string {
  const code = text.charCodeAt(index)
  return text.slice(0, index) + String.fromCharCode(code ^ 1) + text.slice(index + 1)
}
