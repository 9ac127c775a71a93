// Calls that write many rows are read, checked and committed while the service serves others.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expectShortTurn, repeatedLongestTurn } from "../../longest-turn.ts"
import { SendingThread } from "../../sending-thread.ts"

const rowCount = 1_000

describe("writes of many rows", () => {
  let host: TestHost
  /** The client in another thread, so its work does not count as the service's. */
  let sender: SendingThread
  before(async () => {
    sender = new SendingThread()
    host = await testHost({ capture: false })
  })
  after(async () => {
    await sender.stop()
    await host.stop()
  })

  const many = { "60 columns": [60, 1, undefined], "60 columns and a key": [60, 1, "c0"], "8 long columns": [8, 100, "c0"] } as const
  for (const [what, [columns, length, key]] of Object.entries(many)) {
    it(`leave the main thread to others while ${rowCount} rows of ${what} are written`, async () => {
      const slug = what.replaceAll(" ", "-")
      expect((await host.api("POST", "/v1/datasets", { name: what, slug })).status).to.equal(200)
      const names = Array.from({ length: columns }, (_, column) => `c${column}`)
      const rows = Array.from({ length: rowCount }, (_, n) =>
        Object.fromEntries(names.map((name) => [name, `${n} ${name}`.padEnd(length)])),
      )
      const body = JSON.stringify({ rows, ...(key === undefined ? {} : { key }) })
      const headers = { authorization: `Bearer ${host.adminKey}` }
      const write = () => sender.post(`${host.url}/v1/datasets/${slug}/rows`, body, headers)
      const { milliseconds, value } = await repeatedLongestTurn(write)
      expect(value.status, value.text).to.equal(200)
      expectShortTurn(milliseconds, `${body.length} bytes of rows`)
    })
  }
})
