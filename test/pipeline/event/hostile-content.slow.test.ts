// A megabyte of the most expensive content to read, check, cut, render and store, sent to pipelines with all these stages.
// Measures the longest turn of the event loop. In the slow tier each goes to every third pipeline, in the soak to all.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expectShortTurn, printLongestTurns, repeatedLongestTurn } from "../../longest-turn.ts"
import { SendingThread } from "../../sending-thread.ts"
import { isSoak } from "../../tier.ts"
import { Bench } from "../bench.ts"

const size = 1_000_000
const list = (count: number, make: (n: number) => string) => `[${Array.from({ length: count }, (_, n) => make(n)).join(",")}]`
const filled = (value: string) => list(Math.floor((size - 20) / (value.length + 1)), () => value)
const object = (count: number, make: (n: number) => string) => `{${Array.from({ length: count }, (_, n) => make(n)).join(",")}}`
const text = (value: string) => JSON.stringify(value.repeat(Math.floor(size / JSON.stringify(value).length)))

/** JSON values that fill most of a megabyte. */
const values: Record<string, string> = {
  "60,000 names": object(60_000, (n) => `"name${n}":1`),
  "as many names as are taken": object(4_900, (n) => `"name${n}":"${"x".repeat(180)}"`),
  "names of many shapes": list(4_900, (n) => `{"name${n}":${n}}`),
  "70,000 objects of many shapes": list(70_000, (n) => `{"q${n}":1}`),
  "empty lists": filled("[]"),
  "as many lists as are taken": list(49_900, () => "[1,2,3,4]"),
  "nested lists": filled("[[[[[[[[]]]]]]]]"),
  records: list(12_000, (n) => `{"id":${n},"name":"name ${n}","tags":["a","b"]}`),
  "different texts": list(90_000, (n) => `"s${n}"`),
  "the same text": filled('"a"'),
  "long numbers": filled("0.12345678901234567e-300"),
  "large integers": filled("12345678901234567890"),
  "numbers as names": object(4_900, (n) => `"${n * 60_000}":1`),
  "one name again and again": `{${Array(140_000).fill('"a":1').join(",")}}`,
  escapes: text("\u0001"),
  "line breaks": text("\n"),
  surrogates: text("😀"),
  "lone surrogates": `"${"\\ud800".repeat(size / 6)}"`,
  "combining marks": text("á̂̃̄"),
  markup: text("<a href=x>&amp;"),
  links: text("http://a.b/ "),
  "one long host": text("a."),
  "half addresses": text("a@"),
  "numbers of telephones": text("+1"),
  "separators of telephones": text("+1 (2) - . "),
  slashes: text("//"),
  "secret names": list(20_000, () => '{"api_key":"0123456789012345678901234567"}'),
  "a secret name and spaces": JSON.stringify(`token${" ".repeat(size - 100)}`),
  "a long secret name": `{"${"a".repeat(size - 100)}token":1}`,
  "quotes and commas": text('",'),
  formulas: text("=1+1,\r\n"),
  "equals signs": text("a=b "),
}

const others = { state: "active", auth_mode: "none" }
const documents: Record<string, object> = {
  "keeps nothing": { pipeline: [] },
  "writes a row of all": { pipeline: [{ type: "dataset.write", dataset_slug: "all" }] },
  "writes, answers and tells": {
    pipeline: [
      { type: "dataset.write", dataset_slug: "some", key: "email", row: { email: "a@b.test", v: "{{ event.v }}" } },
      { type: "live.broadcast", channel: "told", data: { v: "{{ event.v }}" } },
      { type: "respond", body: { v: "{{ event.v }}" }, headers: { "X-Size": "{{ event.v | size }}" } },
    ],
  },
  transforms: { transform_js: "function transform(event) { return { ...event, more: 1 } }", pipeline: [] },
  "knows repeats by the content": { dedupe: { key: "{{ payload.v }}", window: "1h" }, pipeline: [] },
  mails: {
    pipeline: [
      {
        type: "email.send",
        to: "a@b.test",
        heading: "{{ event.v | truncate: 20000 }}",
        intro: "{{ event.v }}",
        fields: { a: "{{ event.v }}", b: "{{ event.v | escape }}", c: "{{ event.v | url_encode }}" },
      },
    ],
  },
  renders: {
    pipeline: [
      {
        type: "respond",
        body: [
          "{{ event.v | size }} {{ event.v.size }} {{ event.v.first }}",
          "{% for one in event.v %}{{ one }}{% endfor %}",
          "{% for one in event.v limit: 3 %}{{ one }}{% endfor %}",
          "{{ event.v | strip_html }}{{ event.v | escape | url_encode }}",
          "{{ event.v | slugify }}",
        ],
      },
    ],
  },
  checks: {
    request_schema: {
      properties: { v: { anyOf: [{ type: "string", format: "email" }, { type: "array", uniqueItems: true }, { maxProperties: 2 }] } },
    },
    pipeline: [],
  },
}

describe("a megabyte of hostile content", () => {
  let host: TestHost
  let sender: SendingThread
  before(async () => {
    sender = new SendingThread()
    host = await testHost()
  })
  after(async () => {
    await sender.stop()
    await host.stop()
  })

  for (const [number, [what, document]] of Object.entries(documents).entries()) {
    it(`keeps nobody waiting where a pipeline ${what}`, async function () {
      this.timeout(900_000)
      const pipeline = await new Bench(host).make({ ...others, name: what, ...document })
      await sender.post(pipeline.inbound_url, '{"v":1}')
      const turns: { what: string; milliseconds: number; status: number }[] = []
      const requests = Object.entries(values).filter((_, index) => isSoak || index % 3 === number % 3)
      for (const [name, value] of requests) {
        const { milliseconds, value: answer } = await repeatedLongestTurn(() => sender.post(pipeline.inbound_url, `{"v":${value}}`))
        turns.push({ what: name, milliseconds, status: answer.status })
      }
      printLongestTurns(turns)
      for (const { what: name, milliseconds, status } of turns) {
        expectShortTurn(milliseconds, name)
        expect(status, name).to.be.below(600).and.not.equal(503)
      }
    })
  }
})
