// A peer with the same work: a typical handwritten express 5 handler for one form. Verifies the HMAC of the raw body, validates
// with ajv, and stores the lead and a log entry in one transaction, flushed before the answer.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Ajv } from "ajv"
import addFormats from "ajv-formats"
import express from "express"

const folder = process.env["BENCH_FOLDER"] ?? "."
const secret = process.env["BENCH_SECRET"] ?? ""

const database = new DatabaseSync(join(folder, "leads.db"))
database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
database.exec(`
  CREATE TABLE leads(email TEXT PRIMARY KEY, name TEXT, budget REAL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
  CREATE TABLE log(id TEXT PRIMARY KEY, received_at TEXT NOT NULL, email TEXT NOT NULL, payload TEXT NOT NULL);
  CREATE INDEX log_received_at ON log(received_at);
`)
const upsert = database.prepare(
  "INSERT INTO leads VALUES(?,?,?,?,?) ON CONFLICT(email) DO UPDATE SET name=excluded.name, budget=excluded.budget, updated_at=excluded.updated_at",
)
const note = database.prepare("INSERT INTO log VALUES(?,?,?,?)")

interface Lead {
  email: string
  name?: string
  budget?: number
}

const ajv = new Ajv()
addFormats.default(ajv)
const isLead = ajv.compile<Lead>({
  type: "object",
  required: ["email"],
  properties: { email: { type: "string", format: "email" }, name: { type: "string" }, budget: { type: "number" } },
})

const app = express()
app.post("/", express.raw({ type: "application/json" }), (request, response) => {
  const body = request.body as Buffer
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`)
  const bytes = Buffer.from(request.get("x-signature-256") ?? "")
  if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) {
    response.status(401).json({ error: "wrong signature" })
    return
  }
  const payload = body.toString()
  const lead = JSON.parse(payload) as unknown
  if (!isLead(lead)) {
    response.status(400).json({ error: isLead.errors })
    return
  }
  const [id, now, email] = [randomUUID(), new Date().toISOString(), lead.email.trim().toLowerCase()]
  database.exec("BEGIN IMMEDIATE")
  try {
    upsert.run(email, lead.name ?? null, Number(lead.budget) || 0, now, now)
    note.run(id, now, email, payload)
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
  response.json({ status: "accepted", id })
})
const server = app.listen(0, "127.0.0.1", () => process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }))
process.on("disconnect", () => process.exit(0))
