// Forms are parsed in one way for verification and for the transform.
import { setImmediate } from "node:timers/promises"
import { expect } from "chai"
import { maxFormFields, readForm } from "../../../core/pipeline/event/form.ts"

const postForm = async (form: FormData) => {
  const request = new Request("http://localhost", { method: "POST", body: form })
  return { type: request.headers.get("content-type") ?? "", body: Buffer.from(await request.arrayBuffer()) }
}

describe("forms", () => {
  it("has the fields of a multipart form at once, in their order, wherever files stand", async () => {
    const form = new FormData()
    const big = new File([Buffer.alloc(1_000_000, "x")], "big.bin")
    for (const [name, value] of [
      ["a", "1"],
      ["Größe", "naïve 😀\r\nline"],
      ["a", ""],
    ] as const)
      form.append(name, value)
    form.append("attached", big)
    form.append("signature", "last")
    const { type, body } = await postForm(form)
    const read = readForm(type, body)
    expect(read?.fields).to.deep.equal([
      ["a", "1"],
      ["Größe", "naïve 😀\r\nline"],
      ["a", ""],
      ["signature", "last"],
    ])
    expect(read?.problem).to.deep.equal({ kind: "file", detail: "attached" })
  })

  it("takes a choice of files that was left empty as an empty field, in its place and at once", async () => {
    const part = (name: string, more: string, value: string) =>
      `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
    const unchosen = '; filename=""\r\nContent-Type: application/octet-stream'
    const read = (...parts: string[]) => readForm("multipart/form-data; boundary=x", Buffer.from(`${parts.join("")}--x--\r\n`))
    const optional = read(part("email", "", "a@b.c"), part("cv", unchosen, ""), part("cv", unchosen, ""), part("name", "", "Ada"))
    expect(optional?.fields).to.deep.equal([
      ["email", "a@b.c"],
      ["cv", ""],
      ["cv", ""],
      ["name", "Ada"],
    ])
    expect(optional?.problem).to.equal(undefined)
    for (const file of [part("cv", unchosen, "bytes"), part("cv", unchosen.replace('""', '"empty.txt"'), "")]) {
      const attached = read(part("email", "", "a@b.c"), part("photo", unchosen, ""), file, part("name", "", "Ada"))
      expect(attached?.fields.map(([name]) => name)).to.deep.equal(["email", "photo", "name"])
      expect(attached?.problem).to.deep.equal({ kind: "file", detail: "cv" })
    }
    const broken = readForm("multipart/form-data; boundary=x", Buffer.from(part("cv", unchosen, "").slice(0, -2)))
    expect(broken?.problem?.kind).to.equal("malformed")
  })

  it("reads an urlencoded form at once, and knows at once that it can be taken", () => {
    expect(readForm("Application/X-WWW-Form-Urlencoded; charset=utf-8", Buffer.from("a=1&b=%C3%A4+b&a=&c"))).to.deep.equal({
      fields: [
        ["a", "1"],
        ["b", "ä b"],
        ["a", ""],
        ["c", ""],
      ],
      problem: undefined,
    })
  })

  it("has no fields of a form with too many", async () => {
    const pairs = Array.from({ length: maxFormFields + 1 }, (_, index): [string, string] => [`f${index}`, "x"])
    const encoded = (most: number) =>
      readForm("application/x-www-form-urlencoded", Buffer.from(new URLSearchParams(pairs.slice(0, most)).toString()))
    const multipart = async (most: number) => {
      const form = new FormData()
      for (const [name, value] of pairs.slice(0, most)) form.append(name, value)
      const { type, body } = await postForm(form)
      return readForm(type, body)
    }
    for (const read of [encoded, multipart]) {
      const [within, beyond] = [await read(maxFormFields), await read(maxFormFields + 1)]
      expect([within?.fields.length, within?.problem]).to.deep.equal([maxFormFields, undefined])
      expect([beyond?.fields.length, beyond?.problem?.kind]).to.deep.equal([0, "too_many_fields"])
    }
  })

  it("says of a multipart body that breaks off, or has no boundary, that it is malformed", async () => {
    const whole = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    const problemOf = (type: string, body: string) => readForm(type, Buffer.from(body))?.problem
    expect(problemOf('multipart/form-data; boundary="x"', whole)).to.equal(undefined)
    expect(problemOf("multipart/form-data; boundary=x", whole.slice(0, -9))?.kind).to.equal("malformed")
    expect(problemOf("multipart/form-data; boundary=x", "")?.kind).to.equal("malformed")
    expect(problemOf("multipart/form-data", whole)?.kind).to.equal("malformed")
  })

  it("outlives a body that breaks off in a file", async () => {
    const part = '--x\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nabc'
    const unfinished = readForm("multipart/form-data; boundary=x", Buffer.from(part))
    expect(unfinished?.problem?.kind).to.equal("malformed")
    // An unhandled rejection would have been thrown by now.
    await setImmediate()
  })

  it("leaves everything else alone", () => {
    for (const type of ["", "application/json", "text/plain", "multipart/mixed; boundary=x"])
      expect(readForm(type, Buffer.from("a=1"))).to.equal(undefined)
  })
})
