// Files targeted by hostile queries, and an unguarded engine with the same views over the same segments.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api"
import { literal } from "../../../../plugins/pages/page-analytics/event-columns.ts"
import { eventsView, views } from "../../../../plugins/pages/page-analytics/views.ts"
import { secret } from "./hostile-queries.ts"

export class CorpusFixture {
  readonly folder: string
  readonly #names: Record<string, string>
  #server: Server | undefined
  #opened = 0
  asked = 0

  constructor(folder: string, own: string, other: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true })
    const at = (name: string) => join(folder, name)
    this.#names = {
      txt: at("kept.txt"),
      csv: at("kept.csv"),
      json: at("kept.json"),
      db: at("kept.duckdb"),
      out: at("written"),
      own,
      other,
      folder,
      marked: secret,
    }
  }

  async start(): Promise<void> {
    const { txt = "", csv = "", json = "", db = "" } = this.#names
    writeFileSync(txt, secret)
    writeFileSync(csv, `kept_secret,n\n${secret},1\n`)
    writeFileSync(json, `${JSON.stringify({ kept_secret: secret })}\n`)
    const instance = await DuckDBInstance.create(db)
    const connection = await instance.connect()
    await connection.run(`CREATE TABLE kept AS SELECT ${literal(secret)} AS kept_secret; CHECKPOINT`)
    const serialized = await connection.runAndReadAll(
      `SELECT json_serialize_sql(${literal(`SELECT content FROM read_text(${literal(txt)})`)})`,
    )
    this.#names["serialized"] = String(serialized.getRows()[0]?.[0]).replaceAll("'", "''")
    connection.closeSync()
    instance.closeSync()
    const server = createServer((_request, response) => {
      this.asked++
      response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    this.#server = server
    this.#names["http"] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server?.close()
  }

  fill(text: string): string {
    return text.replace(/\{([a-z]+)\}/g, (whole, name: string) => this.#names[name] ?? whole)
  }

  get written(): boolean {
    return existsSync(this.#names["out"] ?? "")
  }

  clear(): void {
    rmSync(this.#names["out"] ?? "", { recursive: true, force: true })
    this.asked = 0
  }

  /** Returns an untouched engine. It uses a database file, since queries try to read one. */
  async unguarded(): Promise<{ connection: DuckDBConnection; close: () => void }> {
    const instance = await DuckDBInstance.create(join(this.folder, `${++this.#opened}-page-events.duckdb`), { custom_user_agent: secret })
    const connection = await instance.connect()
    await connection.run(eventsView([this.#names["own"] ?? ""], false))
    for (const view of views) await connection.run(`CREATE VIEW ${view.name} AS ${view.sql}`)
    await connection.run(`CREATE TABLE target AS SELECT 1 AS x; CREATE SEQUENCE counter; SET VARIABLE mark = ${literal(secret)}`)
    return {
      connection,
      close() {
        connection.closeSync()
        instance.closeSync()
      },
    }
  }
}
