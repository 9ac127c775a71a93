// Unusual answers of a token endpoint, at the first exchange and at a refresh. No token is lost, and the connection states the
// cause until it works again.
import { once } from "node:events"
import { expect } from "chai"
import { failureOf } from "../../../refusal.ts"
import { type Handler, json } from "./vendor-server.ts"
import { startVendorService, type VendorService, vendorDocument } from "./vendor-service.ts"

const secret = "ANSWERED-SECRET-0123456789"
const tokens = JSON.stringify({ access_token: secret, token_type: "bearer", refresh_token: secret })

const unusable: Record<string, Handler> = {
  "JSON that ends early": (_, response) => response.writeHead(200, { "content-type": "application/json" }).end(tokens.slice(0, -10)),
  "a page of HTML": (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(`<p>${secret}</p>`),
  "a list": (_, response) => json(response, 200, [tokens]),
  nothing: (_, response) => response.writeHead(200, { "content-type": "application/json" }).end(),
  "no access token": (_, response) => json(response, 200, { token_type: "bearer", refresh_token: secret }),
  "an access token that is a number": (_, response) => json(response, 200, { access_token: 7, token_type: "bearer" }),
  "more than it may": (_, response) => json(response, 200, { access_token: secret, token_type: "bearer", more: "x".repeat(300_000) }),
  "without an end": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" })
    const more = (): void => void response.write("x".repeat(65_536), (error) => error ?? more())
    more()
  },
  "a part of what it announced": (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
    response.write(tokens, () => response.destroy())
  },
  "by closing the connection": (_, response) => void response.destroy(),
  "a redirect": (_, response) => response.writeHead(302, { location: "/elsewhere" }).end(tokens),
  "500 with a page": (_, response) => response.writeHead(500, { "content-type": "text/html" }).end(`<p>${secret}</p>`),
  "an error code with line breaks": (_, response) => json(response, 400, { error: "a\nb" }),
}

const blanks: Record<string, unknown> = { absent: undefined, null: null, empty: "", blank: "  " }
const usable: Record<string, Record<string, unknown>> = {
  "a numeric expires_in as text": { expires_in: "3600" },
  "a wordy expires_in": { expires_in: "never" },
  "an expires_in of 0": { expires_in: 0 },
  "an expires_in beyond all dates": { expires_in: 1e300 },
  "a list of scopes": { scope: ["read", "write"] },
  "an empty error": { error: "" },
  "a refresh token that is false": { refresh_token: false },
}
for (const member of ["refresh_token", "expires_in", "scope", "token_type", "id_token"])
  for (const [what, value] of Object.entries(blanks)) usable[`${member} ${what}`] = { [member]: value }

interface Shown {
  readonly status: string
  readonly health: { readonly status: string }
  readonly authorization_error: { readonly reason: string; readonly message: string; readonly since: string } | null
}

describe("answers of a token endpoint", () => {
  let service: VendorService
  const answers: string[] = []
  before(async () => {
    service = await startVendorService((origin) => [vendorDocument("vendor", origin)])
  })
  after(() => service.stop())
  beforeEach(() => service.vendor.on.clear())
  const readIntegration = async (id = "") => {
    const { body } = await service.host.api<Shown>("GET", `/v1/integrations/${id}`)
    answers.push(JSON.stringify(body))
    return body
  }

  for (const [what, handler] of Object.entries(unusable)) {
    it(`connect nothing where it answers ${what}; the connection says so, and can be connected after that`, async () => {
      service.vendor.on.set("/token", handler)
      const { status, integration_id } = await service.connect("vendor", `First ${what}`)
      expect(status).to.equal("failed")
      const failed = await readIntegration(integration_id)
      expect(failed.status).to.equal("pending_authorization")
      expect(failed.authorization_error?.reason).to.be.oneOf(["oauth_server_failed", "connection_failed"])
      expect(failed.authorization_error?.message).to.include(service.vendor.origin)
    })

    it(`end no grant where it answers ${what} to a refresh; the connection says so until one works`, async () => {
      const { integration_id = "" } = await service.connect("vendor", `Refresh ${what}`)
      service.host.clock.move(3_600_000)
      service.vendor.on.set("/token", handler)
      for (let time = 0; time < 2; time++) expect((await failureOf(service.call(integration_id))).code).to.equal("unavailable")
      const failing = await readIntegration(integration_id)
      expect(failing).to.include({ status: "connected" })
      expect(failing.authorization_error?.message).to.include(service.vendor.origin)
      service.vendor.on.clear()
      expect((await service.call(integration_id)).status).to.equal(200)
      expect(await readIntegration(integration_id)).to.deep.include({ status: "connected", authorization_error: null })
    })
  }

  for (const [what, members] of Object.entries(usable)) {
    it(`grant access by a valid access token with ${what}, at first and at a refresh`, async () => {
      let access = `FIRST-${secret}`
      service.vendor.on.set("/token", ({ form }, response) => {
        const otherFields = { token_type: "Bearer", expires_in: 3_600, refresh_token: secret, scope: "read", ...members }
        if (form.get("grant_type") === "refresh_token") expect(form.get("refresh_token")).to.equal(secret)
        json(response, 200, { access_token: access, ...otherFields })
      })
      const first = await service.connect("vendor", `Usable ${what}`)
      expect(first, JSON.stringify(first)).to.include({ status: "connected" })
      service.vendor.on.set("/token", (_, response) =>
        json(response, 200, { access_token: `KEPT-${secret}`, token_type: "bearer", expires_in: 3_600, refresh_token: secret }),
      )
      const { integration_id = "" } = await service.connect("vendor", `Usable later ${what}`)
      service.vendor.on.set("/token", ({ form }, response) => {
        expect(form.get("refresh_token")).to.equal(secret)
        json(response, 200, {
          access_token: access,
          token_type: "Bearer",
          expires_in: 3_600,
          refresh_token: secret,
          scope: "read",
          ...members,
        })
      })
      for (access of [`SECOND-${secret}`, `THIRD-${secret}`]) {
        const before = service.vendor.at("/token").length
        service.host.clock.move(3_600_000)
        expect((await service.call(integration_id)).status).to.equal(200)
        const refreshed = service.vendor.at("/token").length > before
        if (refreshed) expect(service.vendor.at("/v3/contacts").at(-1)?.authorization).to.equal(`Bearer ${access}`)
      }
      expect(await readIntegration(integration_id)).to.deep.include({ status: "connected", authorization_error: null })
    })
  }

  it("grant access by a form in place of JSON, and by status 201", async () => {
    service.vendor.on.set("/token", (_, response) => {
      response.writeHead(200, { "content-type": "application/x-www-form-urlencoded" })
      response.end(`access_token=FORM-${secret}&token_type=bearer&scope=&refresh_token=`)
    })
    expect(await service.connect("vendor", "Form")).to.include({ status: "connected" })
    service.vendor.on.set("/token", (_, response) => json(response, 201, JSON.parse(tokens)))
    expect(await service.connect("vendor", "Created")).to.include({ status: "connected" })
  })

  it("show why access was not granted, and forget it once it was", async () => {
    service.vendor.on.set("/authorize", ({ query }, response) => {
      const back = new URL(query.get("redirect_uri") ?? "")
      for (const [name, value] of [
        ["error", "access_denied"],
        ["state", query.get("state") ?? ""],
      ] as const)
        back.searchParams.set(name, value)
      response.writeHead(303, { location: back.href }).end()
    })
    const { status, integration_id } = await service.connect("vendor", "Denied")
    expect(status).to.equal("denied")
    const { authorization_error: error } = await readIntegration(integration_id)
    expect(error).to.include({ reason: "access_denied", message: "Access was not granted (access_denied)." })
    const { body } = await service.host.api<{ integrations: (Shown & { id: string })[] }>("GET", "/v1/integrations?limit=200")
    expect(body.integrations.find(({ id }) => id === integration_id)?.authorization_error).to.deep.equal(error)
  })

  it("leave no secret in a log or an answer", () => {
    expect(service.host.logged.join("\n") + answers.join("\n")).not.to.match(
      /ANSWERED-SECRET|ACCESS-TOKEN|REFRESH-TOKEN|VENDOR-CLIENT-SECRET/,
    )
  })

  it("wait for a stop of the service no longer than a refresh could lose something", async () => {
    const { integration_id: id = "" } = await service.connect("vendor", "Stopping")
    // With this refresh, the vendor does not rotate refresh tokens.
    service.vendor.on.set("/token", (_, response) =>
      json(response, 200, { access_token: "SECOND", token_type: "bearer", expires_in: 3_600 }),
    )
    service.host.clock.move(3_600_000)
    await service.call(id)
    service.host.clock.move(3_600_000)
    const completion = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    service.vendor.on.set("/token", (_, response) => {
      void once(response, "close").then(() => aborted.resolve())
      completion.resolve()
    })
    const call = failureOf(service.call(id))
    await completion.promise
    await service.host.stop()
    await aborted.promise
    expect((await call).code).to.equal("canceled")
  })
})
