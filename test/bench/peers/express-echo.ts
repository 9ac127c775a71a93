// A peer: a bare express 5 server that parses JSON and sends it back. Stores no data.
import type { AddressInfo } from "node:net"
import express from "express"

const app = express()
app.use(express.json())
app.post("/", (request, response) => {
  response.json(request.body)
})
const server = app.listen(0, "127.0.0.1", () => process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }))
process.on("disconnect", () => process.exit(0))
