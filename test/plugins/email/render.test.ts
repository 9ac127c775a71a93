// Rendering of content: allowed links, blocked markup, and an equivalent text part.
import { readFileSync } from "node:fs"
import { expect } from "chai"
import fc from "fast-check"
import { isMailAddress, parseAddresses } from "../../../plugins/people/email/addresses.ts"
import { buttonUrl, linkedHtml, renderMail } from "../../../plugins/people/email/render.ts"
import { generatedFile, generateParts } from "../../../plugins/people/email/template/build.ts"

describe("email: rendering", () => {
  it("has a committed template that is what MJML makes of its source", async () => {
    expect(readFileSync(generatedFile, "utf8")).to.equal(await generateParts())
  })

  const links: [string, string][] = [
    ["ada@example.com", '<a href="mailto:ada@example.com">ada@example.com</a>'],
    ["see https://example.com/a?b=1&c=2.", 'see <a href="https://example.com/a?b=1&amp;c=2">https://example.com/a?b=1&amp;c=2</a>.'],
    ["www.example.com", '<a href="http://www.example.com/">www.example.com</a>'],
    ["+49 (30) 123-4567", '<a href="tel:+49301234567">+49 (30) 123-4567</a>'],
    ["two\nlines", "two<br>lines"],
    ["bücher.example.com/ä", '<a href="http://xn--bcher-kva.example.com/%C3%A4">bücher.example.com/ä</a>'],
  ]
  for (const [text, html] of links) it(`links ${JSON.stringify(text)}`, () => expect(linkedHtml(text)).to.equal(html))

  const plain = [
    "javascript:alert(1)",
    "data:text/html,<script>",
    "ftp://example.com/x",
    "//example.com/x",
    "file:///etc/passwd",
    "1.2.3.4",
    "+1 2",
    "room +12345",
    "https://user:pw@example.com/",
  ]
  for (const text of plain) {
    it(`does not link ${JSON.stringify(text)} as it stands`, () => {
      const hrefs = [...linkedHtml(text).matchAll(/href="([^"]*)"/g)].map((match) => match[1] ?? "")
      for (const href of hrefs)
        expect(href)
          .to.match(/^(https?:\/\/example\.com|mailto:)/)
          .and.not.to.include(":pw")
      expect(hrefs.filter((href) => !/^(https?|mailto):/.test(href))).to.deep.equal([])
    })
  }

  it("never lets markup or a foreign scheme through, in any text", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      '"',
      "'",
      "&",
      "javascript:",
      "https://",
      "x.test",
      "@",
      " ",
      "\n",
      "<script>",
      "onclick=",
      "%%url%%",
      "+4930123456",
      "mailto:",
      "a",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const html = linkedHtml(pieces.join(""))
        const remainder = html.replace(/<a href="(?:https?:\/\/|mailto:|tel:\+)[^"<>]*">|<\/a>|<br>/g, "")
        expect(remainder).not.to.match(/[<>"']/)
      }),
    )
  })

  it("escapes every place of the template and fills none from a value", () => {
    const evil = `"><script>alert('%%url%%')</script>`
    const { html, text, subject } = renderMail(
      {
        subject: `Hi\r\nBcc: victim@example.com ${evil}`,
        heading: evil,
        intro: evil,
        fields: [
          { label: evil, value: evil },
          { label: "Empty", value: "" },
        ],
        button: { label: evil, url: `https://example.com/?q="><script>` },
      },
      evil,
    )
    expect(html).not.to.include("<script>")
    expect(html).to.include("%%url%%")
    expect(html.replaceAll("%%url%%", "")).not.to.include("%%")
    expect(html).to.include('href="https://example.com/?q=%22%3E%3Cscript%3E"')
    expect(subject).not.to.match(/[\r\n]/)
    expect(text).to.include("Empty: —")
  })

  it("leaves out what is not given, and a button that leads nowhere safe", () => {
    for (const url of ["", "javascript:alert(1)", "mailto:a@b.test", "/relative", "https://user:pw@example.com/"]) {
      expect(buttonUrl(url), url).to.equal(undefined)
      const { html, text } = renderMail({ heading: "Hello", button: { label: "Press me", url } }, "Foot")
      expect(html).not.to.include("Press me")
      expect(html).not.to.include('class="label"')
      expect(text).to.equal("Hello\n\n-- \nFoot\n")
    }
  })

  it("says the same in plain text", () => {
    const content = {
      heading: "New lead",
      intro: "From the site",
      fields: [
        { label: "Name", value: "Ada" },
        { label: "Note", value: "a\nb" },
      ],
    }
    const { text } = renderMail({ ...content, button: { label: "Open", url: "https://example.com/p" } }, "Foot")
    expect(text).to.equal("New lead\n\nFrom the site\n\nName: Ada\nNote: \n  a\n  b\n\nOpen: https://example.com/p\n\n-- \nFoot\n")
  })
})

describe("email: addresses", () => {
  it("takes names in any script, commas in quotes and international domains", () => {
    expect(parseAddresses('"Lovelace, Ada" <ada@example.com>, 李雷 <lilei@例え.jp>, o\'neil+x@a-b.test', "to")).to.deep.equal([
      { name: "Lovelace, Ada", address: "ada@example.com" },
      { name: "李雷", address: "lilei@例え.jp" },
      { name: "", address: "o'neil+x@a-b.test" },
    ])
  })

  const bad = [
    "", "ada", "ada@", "@example.com", "a@b@c.test", "a b@c.test", "a..b@c.test", ".a@c.test", "a@-c.test", "a@c..test", "a@[127.0.0.1]",
    "ada@example.com\r\nBcc: x@y.test", "ada@example.com\n", "Ada\u0000 <ada@example.com>", "team: a@b.test, c@d.test;", '"a@evil.test x"@b.test',
    `${"x".repeat(65)}@c.test`, "ada@exa%6dple.com", "a@c.test, nonsense",
  ] // biome-ignore format: a table reads better dense
  for (const text of bad) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parseAddresses(text, "to")).to.throw(/The mail was not sent: to holds/)
    })
  }

  it("calls nothing an address that could break a header or an SMTP command", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        if (isMailAddress(text)) expect(text).not.to.match(/[\s<>,;:"\\\r\n\0]/)
      }),
    )
  })
})
