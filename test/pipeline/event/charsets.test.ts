// Bodies in the charsets of browsers and other senders, with a correct label, a wrong label and without a label.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, type Made } from "../bench.ts"

describe("a body in another charset", () => {
  let host: TestHost
  let bench: Bench
  let pipeline: Made

  before(async () => {
    host = await testHost({})
    bench = new Bench(host)
    pipeline = await bench.make({ name: "Echo", pipeline: [{ type: "respond", body: "{{ event }}" }] })
  })
  after(() => host.stop())

  /** Sends the bytes; each character of the text is one byte. */
  async function postBody(type: string, text: string | Buffer) {
    const bytes = typeof text === "string" ? Buffer.from(text, "latin1") : text
    const answer = await fetch(pipeline.inbound_url, { method: "POST", headers: { "content-type": type }, body: new Uint8Array(bytes) })
    const event = (await answer.json()) as Record<string, unknown>
    const { warnings } = await bench.newest(pipeline.slug)
    return { status: answer.status, event, notes: warnings.map(({ message }) => message) }
  }

  const form = "application/x-www-form-urlencoded"
  const utf16 = (text: string) => Buffer.from(text, "utf16le")
  const swapped = (text: string) => utf16(text).swap16()
  const part = (name: string, value: string, more = "") =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const multipart = "multipart/form-data; boundary=x"

  const labelled: readonly [title: string, type: string, body: string | Buffer, name: string][] = [
    ["ISO-8859-1 form", `${form}; charset=ISO-8859-1`, "name=M%FCller", "Müller"],
    ["ISO-8859-1 form with raw bytes", `${form}; charset="iso-8859-1"`, "name=M\xfcller", "Müller"],
    ["windows-1252 form", `${form};charset=windows-1252`, "name=%80+5+%93x%94", "€ 5 “x”"],
    ["windows-1251 form", `${form}; charset=windows-1251`, "name=%C8%E2%E0%ED", "Иван"],
    ["_charset_ of a browser", form, "_charset_=Shift_JIS&name=%93%FA%96%7B", "日本"],
    ["GBK form whose bytes are UTF-8 as well", `${form}; charset=gbk`, "name=%C4%A3", "模"],
    ["ISO-2022-JP form", `${form}; charset=iso-2022-jp`, "name=%1B$BF|K\\%1B(B", "日本"],
    ["_charset_ in multipart", multipart, `${part("_charset_", "iso-8859-1")}${part("name", "M\xfcller")}--x--\r\n`, "Müller"],
    ["charset of a part", multipart, `${part("name", "M\xfcller", "\r\nContent-Type: text/plain; charset=iso-8859-1")}--x--\r\n`, "Müller"],
    ["JSON in ISO-8859-1", "application/json; charset=ISO-8859-1", '{"name":"M\xfcller"}', "Müller"],
    ["JSON with a byte order mark", "application/json; charset=utf-8", '\xef\xbb\xbf{"name":"M\xc3\xbcller"}', "Müller"],
    ["text with a byte order mark", "text/plain", '\xef\xbb\xbf{"name":"M\xc3\xbcller"}', "Müller"],
    ["JSON in UTF-16 with a mark", "application/json", utf16('\ufeff{"name":"Müller"}'), "Müller"],
    ["JSON in UTF-16BE with a mark", "application/json", swapped('\ufeff{"name":"Müller"}'), "Müller"],
    ["JSON in UTF-16LE", "application/json; charset=utf-16le", utf16('{"name":"Müller"}'), "Müller"],
  ]
  for (const [title, type, body, name] of labelled) {
    it(`is read by its label: ${title}`, async () => {
      const { status, event, notes } = await postBody(type, body)
      expect([status, event["name"], notes]).to.deep.equal([200, name, []])
    })
  }

  const detected: readonly [title: string, type: string, body: string | Buffer, name: string][] = [
    ["UTF-8 form labelled ISO-8859-1", `${form}; charset=ISO-8859-1`, "name=M%C3%BCller", "Müller"],
    ["Latin-1 form without a label", form, "name=M%FCller&city=K%F6ln", "Müller"],
    ["Latin-1 form labelled UTF-8", `${form}; charset=utf-8`, "name=M%FCller", "Müller"],
    ["Latin-1 form of an unknown label", `${form}; charset=klingon`, "name=M%FCller", "Müller"],
    ["ASCII-labelled UTF-8 in JSON", "application/json; charset=us-ascii", '{"name":"M\xc3\xbcller"}', "Müller"],
    ["Latin-1 in JSON", "application/json", '{"name":"M\xfcller"}', "Müller"],
    [
      "Latin-1 in a part that is labelled UTF-8",
      multipart,
      `${part("name", "M\xfcller", "\r\nContent-Type: text/plain; charset=utf-8")}--x--\r\n`,
      "Müller",
    ],
    ["UTF-16 JSON without a mark", "application/json", utf16('{"name":"Müller"}'), "Müller"],
    ["Cyrillic without a label", form, "name=%CF%F0%E8%E2%E5%F2+%EC%E8%F0+%EA%E0%EA+%E4%E5%EB%E0", "Привет мир как дела"],
  ]
  for (const [title, type, body, name] of detected) {
    it(`is read with a note if its label is wrong or absent: ${title}`, async () => {
      const { status, event, notes } = await postBody(type, body)
      expect([status, event["name"]]).to.deep.equal([200, name])
      expect(notes).to.have.length(1)
      expect(notes[0]).to.match(/^The charset was detected as [\w-]+; the sender named none or a wrong one\.$/)
    })
  }

  it("keeps names of fields too", async () => {
    const { event } = await postBody(`${form}; charset=iso-8859-1`, "Pr%E9nom=Lo%EFc")
    expect(event).to.deep.equal({ Prénom: "Loïc" })
    const { event: parts } = await postBody(`${multipart}; charset=iso-8859-1`, `${part("Pr\xe9nom", "Lo\xefc")}--x--\r\n`)
    expect(parts).to.deep.equal({ Prénom: "Loïc" })
  })

  it("is stored with a finding if text was lost before it was sent", async () => {
    for (const [type, body] of [
      [form, "name=M%EF%BF%BDller"],
      ["application/json", '{"name":"M\\ufffdller"}'],
    ] as const) {
      const { event, notes } = await postBody(type, body)
      expect(event["name"]).to.equal("M\ufffdller")
      expect(notes).to.have.length(1)
      expect(notes[0]).to.include("U+FFFD")
    }
  })

  it("is checked for its shape in every charset", async () => {
    const deep = `${"[".repeat(30_000)}${"]".repeat(30_000)}`
    for (const body of [utf16(`\ufeff${deep}`), Buffer.from(`\ufeff${deep}`), Buffer.from(deep)]) {
      const { status, event } = await postBody("application/json", body)
      expect([status, (event["details"] as { reason: string }).reason]).to.deep.equal([400, "body_too_deep"])
    }
  })
})

describe("JSON under the type of a form", () => {
  let host: TestHost
  let bench: Bench
  let pipeline: Made

  before(async () => {
    host = await testHost({})
    bench = new Bench(host)
    pipeline = await bench.make({ name: "Echo", pipeline: [{ type: "respond", body: "{{ event }}" }] })
  })
  after(() => host.stop())

  const post = async (body: string) => {
    const headers = { "content-type": "application/x-www-form-urlencoded; charset=UTF-8" }
    const answer = await fetch(pipeline.inbound_url, { method: "POST", headers, body })
    return { event: (await answer.json()) as unknown, warnings: (await bench.newest(pipeline.slug)).warnings }
  }

  it("is read as JSON, with a note in the entry", async () => {
    for (const body of ['{"name":"Zoë","n":[1,{"a":"b=c&d"}]}', ' \r\n{ "n": 1 }\n', '[{"a":1}]', '\ufeff{"n":1}']) {
      const { event, warnings } = await post(body)
      expect(event).to.deep.equal(JSON.parse(body.replace("\ufeff", "")))
      expect(warnings).to.deep.equal([{ pointer: "", message: "The body was sent as a form and read as JSON, which it holds." }])
    }
  })

  it("stays a form if a field begins with a brace", async () => {
    for (const [body, event] of [
      ["{a}=1&b={c}", { "{a}": "1", b: "{c}" }],
      ["payload=%7B%22a%22%3A1%7D", { payload: '{"a":1}' }],
      ["[x]=1&y=]", { "[x]": "1", y: "]" }],
    ] as const) {
      const message = await post(body)
      expect(message).to.deep.equal({ event, warnings: [] })
    }
  })

  it("has a note in the entry if a form has no fields", async () => {
    const { event, warnings } = await post("_envelope.page_url=https%3A%2F%2Fexample.com")
    expect(event).to.deep.equal({})
    expect(warnings.map(({ message }) => message)).to.deep.equal(["The form has no fields. A browser leaves out fields without a name."])
  })
})
