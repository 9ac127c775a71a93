// A peer: a bare node:http server that parses JSON and sends it back. Stores no data.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on("data", (chunk: Buffer) => void chunks.push(chunk))
  request.on("end", () => {
    const body = Buffer.from(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString())))
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": body.length })
    response.end(body)
  })
})
server.listen(0, "127.0.0.1", () => process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }))
process.on("disconnect", () => process.exit(0))
