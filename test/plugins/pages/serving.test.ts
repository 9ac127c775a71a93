// Pages for the public: a visitor's variant, insertions, and confidential data.
import { type IncomingHttpHeaders, request } from "node:http"
import { expect } from "chai"
import fc from "fast-check"
import { chooseVariant } from "../../../plugins/pages/pages/index.ts"
import { fill, prepare } from "../../../plugins/pages/pages/serving/html.ts"
import { leastProcessorMs } from "../../slowness.ts"
import { desktopChrome, Loop, type Published } from "../page-events/loop.ts"

describe("variants", () => {
  const variants = [
    { key: "a", html: "", weight: 3 },
    { key: "b", html: "", weight: 1 },
    { key: "never", html: "", weight: 0 },
  ]
  it("are chosen by visitor and page, in any order", () => {
    fc.assert(
      fc.property(fc.string(), fc.uuid(), (visitor, page) => {
        const chosen = chooseVariant(variants, visitor, page)?.key
        expect(chosen)
          .to.equal(chooseVariant([...variants].reverse(), visitor, page)?.key)
          .and.not.to.equal("never")
      }),
    )
    expect(chooseVariant([{ key: "x", html: "", weight: 0 }], "v", "p")).to.equal(undefined)
  })
  it("are close to their weights over many visitors", () => {
    const choices = Array.from({ length: 10_000 }, (_, n) => chooseVariant(variants, `visitor ${n}`, "page")?.key)
    expect(choices.filter((key) => key === "a").length / choices.length).to.be.within(0.735, 0.765)
  })
})

describe("the places in a page", () => {
  const parts = { head: "<HEAD>", tag: " TAG", form: () => "<FORM>" }
  const filled = (html: string) => fill(prepare(html), parts)
  it("are the head and the page's own forms, and nothing else", () => {
    expect(filled("<html><head><title>x</title></head><form></form>")).to.equal(
      "<html><head><HEAD><title>x</title></head><form TAG><FORM></form>",
    )
    expect(filled("<!doctype html><p>x")).to.equal("<!doctype html><HEAD><p>x")
    expect(filled('<FORM class="a>b" action=""/>')).to.equal('<HEAD><FORM TAG class="a>b" action=""/><FORM>')
    // The first of two equal attributes counts. An invalid form method would mean GET.
    for (const method of ["post", "", "put"])
      expect(filled(`<form method="${method}">`)).to.equal(`<HEAD><form TAG method="${method}"><FORM>`)
    for (const other of [
      '<form action="https://elsewhere.test">',
      "<form action=/search>",
      "<form data-mr-ignore>",
      '<form method="dialog">',
      '<form method="get">',
      "<form METHOD=GET action=''>",
      "<!-- <form> -->",
      "<script>'<form>'</script>",
      "<textarea><form></textarea>",
      "<style><form></style>",
      "<script><form>",
    ])
      expect(filled(other), other).to.equal(`<HEAD>${other}`)
  })
  it("are those that a browser finds, however the page is written", () => {
    const form = "<form><input name=email></form>"
    const html = "<form TAG><input name=email><FORM></form>"
    for (const before of [
      "<img alt=John's src=a.png>",
      "<p title=it's>x</p>",
      '<p title="a"class=b">',
      "<img alt='a>b'/>",
      '<p a=b/ c==d =e / f = "<form>">',
      "<!-->",
      "<!--->",
      "<!-- a --!>",
      "<!-- <!-- -->",
      "</ not a tag ' >",
      "<?xml version='1'>",
      "<!a ' >",
      "<>",
      "a < b ' ",
      "<script><!-- <script></script> <form> --></script>",
      "<script><!--><form></script>",
      "<title><form></titles></TITLE\n>",
      "<svg><title/><style/></svg>",
    ])
      expect(filled(`${before}${form}<p>We don't spam.</p>`), before).to.equal(`<HEAD>${before}${html}<p>We don't spam.</p>`)
    for (const other of [
      '<form a=">" action=/search>',
      "<form action=/search action>",
      "<form/method=get>",
      "<form data-mr-ignore=''>",
      "<form",
      '<p title="<form>',
      "<plaintext></plaintext><form>",
      "<script><!-- <script> </script> <form>",
    ])
      expect(filled(other), other).to.equal(`<HEAD>${other}`)
    for (const [start, remainder] of [
      ["<!-- made by hand --><!DOCTYPE html>", "\n<p>x"],
      ["<!doctype html>\n<!-- x --><html lang='a>b'>", "<p>x"],
      ["<html><!-- <head> --><head>", "<head>"],
      ["\uFEFF", "<header>x"],
    ])
      expect(filled(`${start}${remainder}`)).to.equal(`${start}<HEAD>${remainder}`)
  })
  it("are found in time that grows with the page and no faster, with any content", async () => {
    const size = 512 * 1_024
    const units = [
      "<a",
      "<a ",
      '<a "',
      "<a b=c",
      "<a b='",
      "<!--",
      "<!",
      "</",
      "</title ",
      "<script>",
      "<script><!--",
      "<svg>",
      "a",
      " ",
      "-",
      "=",
    ]
    const took = await leastProcessorMs(20_000, () => {
      for (const unit of units) {
        for (const start of ["", "<", "<a ", "<!--", "<title>", "<script><!--<script>"])
          expect(prepare(start + unit.repeat(size / unit.length)).html).to.have.length.at.least(size - unit.length)
      }
    })
    // A scan with backtracking takes minutes for one of them; a linear scan takes well under a second for all.
    expect(took).to.be.below(20_000)
  })
  it("are all that changes in a page of the largest size", () => {
    const rows = Array.from({ length: 5_000 }, (_, n) => `<li class="row" id=r${n}><a href='/p?a=${n}&b'>Größe ${n} &amp; 'so' on</a>\r\n`)
    const list = `<ul>${rows.join("")}</ul>`
    expect(list.length).to.be.within(300_000, 512 * 1_024)
    const page = (head: string, tag: string, fields: string) =>
      `<!doctype html><html><head>${head}<style>a>b{}</style></head><body>${list}<form${tag}><input name=email>${fields}</form></body></html>`
    expect(filled(page("", "", ""))).to.equal(page(parts.head, parts.tag, parts.form()))
  })
  it("leave everything else as it was", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("<", ">", "form", "!--", "-->", " ", '"', "'", "script", "/", "a", "head", "=") }),
        (html) => {
          const out = filled(html)
          expect(out.replaceAll("<HEAD>", "").replaceAll(" TAG", "").replaceAll("<FORM>", "")).to.equal(html)
        },
      ),
    )
  })
})

describe("serving pages", () => {
  let loop: Loop
  let page: Published
  const html = (name: string) => `<html><head></head><body><h1>${name}</h1><form id="f"><input name="email"></form></body></html>`
  before(async () => {
    loop = await Loop.start()
    page = await loop.publish([
      { key: "a", html: html("A") },
      { key: "b", html: html("B") },
    ])
  })
  after(() => loop.host.stop())
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(loop.host.url + path, { redirect: "manual", headers: { "user-agent": desktopChrome, ...headers } })
  const variantOf = async (path: string, headers?: Record<string, string>) =>
    /<h1>(\w)<\/h1>/.exec(await (await get(path, headers)).text())?.[1]

  it("shows a visitor the same variant each time, and visitors both", async () => {
    const agents = Array.from({ length: 24 }, (_, n) => ({ "user-agent": `${desktopChrome} V/${n}` }))
    const first = await Promise.all(agents.map((agent) => variantOf(page.path, agent)))
    expect(await Promise.all(agents.map((agent) => variantOf(page.path, agent)))).to.deep.equal(first)
    expect(new Set(first)).to.deep.equal(new Set(["A", "B"]))
  })

  it("says where a page is, refuses a variant that it has not, and lets its scripts open a socket to the service", async () => {
    const { url } = await loop.call<{ url: string }>("GET", `/v1/pages/${page.slug}`)
    expect(url).to.equal(loop.host.url + page.path)
    const { pages } = await loop.call<{ pages: { url: string }[] }>("GET", "/v1/pages")
    expect(pages.map((item) => item.url)).to.include(url)
    const key = { authorization: `Bearer ${loop.host.adminKey}` }
    const typo = await get(`${page.path}?variant=typo`, key)
    expect(typo.status).to.equal(404)
    const refused = (await typo.json()) as { message: string; details: { reason: string } }
    expect([refused.message, refused.details.reason]).to.deep.equal(['The page has no variant "typo"; it has a, b.', "variant_not_found"])
    expect((await get(`${page.path}?variant=typo`)).status).to.equal(200)
    const policy = (await get(page.path)).headers.get("content-security-policy") ?? ""
    expect(policy).to.match(new RegExp(`connect-src [^;]*${loop.host.url.replace("http", "ws")} [^;]*wss:`))
    const preflight = await fetch(`${loop.host.url}/v1/beacon-vitals.js`, {
      method: "OPTIONS",
      headers: { origin: "null", "access-control-request-method": "GET", "access-control-request-headers": "x-service-test" },
    })
    expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).to.include("x-service-test")
  })

  it("warns of a page that keeps its own events away, and of one that was saved from a browser", async () => {
    const warned = await loop.publish([
      { key: "strict", html: `<meta http-equiv="Content-Security-Policy" content="default-src 'none'">` },
      { key: "saved", html: `<script src="/v1/beacon.js" data-mr="{}"></script>` },
    ])
    const { warnings } = await loop.call<{ warnings: string[] }>("GET", `/v1/pages/${warned.slug}`)
    expect(warnings.map((warning) => warning.split(":")[0])).to.deep.equal(["own_policy", "saved_page"])
  })

  it("shows a variant that is asked for only to who has a key of the organization, and as a test", async () => {
    const own = await variantOf(page.path)
    const other = own === "A" ? "b" : "a"
    const previewUrl = `${page.path}?variant=${other}`
    expect(await variantOf(previewUrl)).to.equal(own)
    expect(await variantOf(previewUrl, { authorization: "Bearer mr_api_wrong" })).to.equal(own)
    expect(await variantOf(previewUrl, { authorization: `Bearer ${loop.host.adminKey}` })).to.equal(other.toUpperCase())
    const preview = await (await get(previewUrl, { authorization: `Bearer ${loop.host.adminKey}` })).text()
    expect(preview).to.include("&quot;t&quot;:1")
    expect(await (await get(page.path)).text()).not.to.include("&quot;t&quot;:1")
  })

  it("answers with headers that keep a page to itself, and nothing that a cache may share", async () => {
    const { headers } = await get(page.path)
    const policy = headers.get("content-security-policy") ?? ""
    expect(policy)
      .to.match(/^sandbox /)
      .and.not.to.include("allow-same-origin")
    for (const directive of ["default-src 'none'", "base-uri 'none'", "object-src 'none'", "frame-ancestors 'none'"])
      expect(policy).to.include(directive)
    expect(headers.get("cache-control")).to.equal("private, no-cache")
    expect(headers.get("x-content-type-options")).to.equal("nosniff")
    expect(headers.get("set-cookie")).to.equal(null)
    const head = await fetch(loop.host.url + page.path, { method: "HEAD", headers: { "user-agent": desktopChrome } })
    expect([head.status, head.headers.get("content-security-policy"), await head.text()]).to.deep.equal([200, policy, ""])
  })

  it("answers alike for what is not there, not published, archived, or another's", async () => {
    const draft = await loop.call<Published>("POST", "/v1/pages", { title: "Draft", variants: [{ key: "a", html: "secret" }] })
    const erased = await loop.publish()
    await loop.call("PATCH", `/v1/pages/${erased.slug}`, { status: "archived" })
    const answers = await Promise.all(
      [`/p/default/${draft.slug}`, erased.path, "/p/default/never-was", "/p/nobody/page-1", `/p/default/${draft.id}`].map(async (path) => {
        const answer = await get(path)
        const headers = Object.fromEntries([...answer.headers].filter(([name]) => !["x-request-id", "date"].includes(name)))
        return { status: answer.status, headers, body: await answer.text() }
      }),
    )
    expect(answers[0]?.status).to.equal(404)
    expect(answers[0]?.headers["cache-control"]).to.equal("no-store")
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    const posted = await fetch(`${loop.host.url}/p/default/${draft.slug}`, { method: "POST", body: new URLSearchParams({ a: "b" }) })
    expect([posted.status, await posted.text()]).to.deep.equal([404, answers[0]?.body])
  })

  it("sends forms to the newest active pipeline that captures the page's records, and thanks as it says", async () => {
    const make = (name: string, more: object = {}) =>
      loop.call<{ slug: string }>("POST", "/v1/event-pipelines", {
        name,
        state: "active",
        source_kind: "browser_form",
        auth_mode: "public_artifact",
        owner_artifact_id: page.id,
        pipeline: [{ id: "save", type: "dataset.write", dataset_slug: name.toLowerCase(), key: "email" }],
        ...more,
      })
    const send = async (accept: string, fields: Record<string, string>) => {
      const text = await (await get(page.path)).text()
      const action = /<form action="([^"]+)" method="post" id="f">/.exec(text)?.[1] ?? ""
      const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
        ([, name = "", value = ""]): [string, string] => [name, value],
      )
      const body = new URLSearchParams([...hidden, ...Object.entries(fields)])
      return fetch(loop.host.url + action, { method: "POST", redirect: "manual", headers: { accept, "user-agent": desktopChrome }, body })
    }
    const values = async (slug: string) =>
      (await loop.call<{ rows: { values: Record<string, unknown> }[] }>("GET", `/v1/datasets/${slug}/rows`)).rows.map((row) => row.values)
    await make("First")
    const second = await make("Second")
    await make("Unfit", { auth_mode: "hmac_sha256" })
    const thanked = await send("text/html,*/*", { email: "a@b.c" })
    expect([thanked.status, thanked.headers.get("location")]).to.deep.equal([303, `${page.path}#thank-you`])
    expect((await values("second"))[0]).to.deep.include({
      email: "a@b.c",
      artifact_id: page.id,
      page_url: loop.host.url + page.path,
      device_type: "desktop",
    })
    expect(await values("first")).to.deep.equal([])
    const fetched = await send("application/json", { email: "d@e.f" })
    expect([fetched.status, ((await fetched.json()) as { status: string }).status]).to.deep.equal([200, "accepted"])
    await loop.call("PUT", `/v1/event-pipelines/${second.slug}`, {
      request_schema: { type: "object", properties: { email: { type: "string", minLength: 6 } } },
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "second", key: "email" },
        { type: "respond", status: 303, headers: { Location: "https://acme.test/thanks" } },
      ],
    })
    const answered = await send("text/html", { email: "long@enough.test" })
    expect([answered.status, answered.headers.get("location")]).to.deep.equal([303, "https://acme.test/thanks"])
    const refused = await send("text/html", { email: "x" })
    expect([refused.status, refused.headers.get("content-type")]).to.deep.equal([400, "text/html; charset=utf-8"])
    expect(await refused.text())
      .to.include("could not be sent")
      .and.to.include(page.path)
    await loop.call("PUT", `/v1/event-pipelines/${second.slug}`, { state: "disabled" })
    expect((await send("text/html", { email: "g@h.i" })).status).to.equal(303)
    expect((await values("first")).map((row) => row["email"])).to.deep.equal(["g@h.i"])
  })

  it("leaves out the beacon for who sends Global Privacy Control", async () => {
    expect(await (await get(page.path, { "sec-gpc": "1" })).text()).not.to.include("beacon")
    expect(await (await get(page.path)).text()).to.include("beacon")
  })
})

describe("pages as they are configured", () => {
  it("are served from their own origin, and know visitors by a cookie that no script reads", async () => {
    const settings = { pages: { origin: "http://pages.test:8080", visitor_cookie: true } }
    const loop = await Loop.start({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
    try {
      const page = await loop.publish()
      const get = (headers: Record<string, string>) =>
        new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
          request(loop.host.url + page.path, { headers: { "user-agent": desktopChrome, ...headers } }, (response) => {
            let body = ""
            response.on("data", (chunk: Buffer) => {
              body += chunk.toString()
            })
            response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
          })
            .on("error", reject)
            .end()
        })
      const elsewhere = await get({})
      expect([elsewhere.status, elsewhere.headers.location]).to.deep.equal([308, `http://pages.test:8080${page.path}`])
      const host = { host: "pages.test:8080" }
      const first = await get(host)
      const [cookie = ""] = first.headers["set-cookie"] ?? []
      expect(cookie).to.match(/^mr_visitor=[\w-]{22}; Max-Age=15552000; Path=\/p\/; HttpOnly; SameSite=Lax$/)
      expect(first.body).to.include("http://pages.test:8080/v1/beacon.js")
      const visitor = /mr_visitor=([\w-]+)/.exec(cookie)?.[1] ?? ""
      const again = await get({ ...host, cookie: `mr_visitor=${visitor}`, "user-agent": "Mozilla/5.0 another" })
      expect(again.body).to.include(`visitor_id&quot;:&quot;${visitor}`)
      const envelope = JSON.parse((/data-mr="([^"]+)"/.exec(again.body)?.[1] ?? "").replaceAll("&quot;", '"')) as { e: object }
      const { inbound_url } = await loop.pipeline(page)
      const send = (event_id: string, _envelope: object, agent: string) =>
        loop.send(inbound_url, page, { _envelope, event: "pageview", event_id }, { "user-agent": agent })
      await send("cookie-one", envelope.e, `${desktopChrome} one`)
      await send("cookie-two", envelope.e, `${desktopChrome} two`)
      await send("cookie-lie", { ...envelope.e, visitor_proof: "forged.AAAAAAAAAAAAAAAAAAAAAA" }, `${desktopChrome} three`)
      const sessionOf = async (event_id: string) => (await loop.rows({ event_id }))[0]?.["session_id"]
      expect(await sessionOf("cookie-two")).to.equal(await sessionOf("cookie-one"))
      expect(await sessionOf("cookie-lie")).not.to.equal(await sessionOf("cookie-one"))
      const refusing = await get({ ...host, "sec-gpc": "1" })
      expect(refusing.headers["set-cookie"]).to.equal(undefined)
    } finally {
      await loop.host.stop()
    }
  })
})

describe("visitors over midnight", () => {
  it("keep id and variant while their session is open, and are new when it is over", async () => {
    let now = Date.parse("2030-05-05T23:50:00Z")
    const clock = {
      now: () => now,
      monotonic: () => performance.now(),
      after: (ms: number, run: () => void) => {
        const timer = setTimeout(run, ms)
        return () => clearTimeout(timer)
      },
    }
    const loop = await Loop.start({ clock })
    try {
      const page = await loop.publish()
      const other = await loop.publish()
      const visitor = async () =>
        /visitor_id&quot;:&quot;([\w-]+)/.exec(
          await (await fetch(loop.host.url + page.path, { headers: { "user-agent": desktopChrome } })).text(),
        )?.[1]
      const { inbound_url } = await loop.pipeline(other)
      const touch = (event_id: string) => loop.send(inbound_url, other, { event: "pageview", event_id })
      const first = await visitor()
      await touch("before-midnight")
      now += 15 * 60_000
      expect(await visitor()).to.equal(first)
      await touch("after-midnight")
      const rows = await loop.rows()
      expect(new Set(rows.map((row) => row["session_id"]))).to.have.property("size", 1)
      now += 31 * 60_000
      const second = await visitor()
      expect(second).not.to.equal(first)
      now += 24 * 3_600_000
      expect(await visitor()).not.to.equal(second)
    } finally {
      await loop.host.stop()
    }
  })
})
