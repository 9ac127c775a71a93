// Reading documents in: HTML and PDF, inline and by URL, and failures with their reasons.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { KnowledgeBench, type Refused } from "./bench.ts"
import { encrypted, manyPages, pdfSaying } from "./documents.ts"

const html = "<!doctype html><title>Opening hours</title><h1>Hours</h1><p>We open at <b>nine</b>.</p><script>evil()</script>"

describe("reading documents in", () => {
  let bench: KnowledgeBench
  let host: TestHost
  let site: Server
  let base = ""
  before(async () => {
    site = createServer((request, response) => {
      if (request.url === "/hours") response.writeHead(200, { "content-type": "text/html" }).end(html)
      else if (request.url === "/report.pdf")
        response.writeHead(200, { "content-type": "application/pdf" }).end(pdfSaying("Turnover doubled"))
      else if (request.url === "/picture") response.writeHead(200, { "content-type": "image/png" }).end("png")
      else response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    const address = `127.0.0.1:${(site.address() as AddressInfo).port}`
    base = `http://${address}`
    host = await testHost({ capture: false, env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_OUTGOING_ALLOW_HOSTS: address } })
    bench = new KnowledgeBench(host)
  })
  after(async () => {
    await host.stop()
    site.close()
    site.closeAllConnections()
  })

  it("reads HTML and PDF given here and by URL, and says why it could not", async () => {
    const input = { type: "pdf", content_base64: pdfSaying("Quarterly figures").toString("base64") }
    const items = await Promise.all([
      bench.create(input),
      bench.create({ url: `${base}/report.pdf` }),
      bench.create({ url: `${base}/hours` }),
      bench.create({ url: `${base}/picture` }),
      bench.create({ url: `${base}/nothing` }),
      bench.create({ type: "html", content: "<p> <script>x</script>" }),
    ])
    const read = await Promise.all(items.map(({ id }) => bench.whenRead(id)))
    expect(
      read.map(({ type, title, content, content_state, content_reason }) => [type, title, content, content_state, content_reason]),
    ).to.deep.equal([
      ["pdf", "Quarterly figures", "Quarterly figures", "ready", ""],
      ["pdf", "Turnover doubled", "Turnover doubled", "ready", ""],
      ["html", "Opening hours", "# Hours\n\nWe open at nine.", "ready", ""],
      ["markdown", "", "", "failed", "unsupported_type"],
      ["markdown", "", "", "failed", "url_status"],
      ["html", "", "", "failed", "no_text"],
    ])
    expect((await bench.find("figures", 1))[0]?.id).to.equal(items[0]?.id)
    expect((await bench.find("nine", 1))[0]?.id).to.equal(items[2]?.id)
    const { status, body } = await host.api<Refused>("POST", "/v1/knowledge", { url: "http://169.254.169.254/latest" })
    expect([status, body.details.reason]).to.deep.equal([400, "address_refused"])
  })

  it("ends what is malformed, encrypted or too large in a failure with its reason", async () => {
    const pdfInput = (bytes: Buffer) => ({ type: "pdf", content_base64: bytes.toString("base64") })
    const documents = [pdfInput(Buffer.from("not a PDF")), pdfInput(encrypted()), pdfInput(manyPages(3_000))]
    const items = await Promise.all(documents.map((document) => bench.create(document)))
    const read = await Promise.all(items.map(({ id }) => bench.whenRead(id)))
    expect(read.map(({ content_state, content_reason }) => [content_state, content_reason])).to.deep.equal([
      ["failed", "malformed"],
      ["failed", "encrypted"],
      ["failed", "too_many_pages"],
    ])
    for (const { content, content_message } of read) expect([content, content_message.length > 10]).to.deep.equal(["", true])
  })
})
