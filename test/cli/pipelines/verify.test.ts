// `millrace pipelines verify`: explains the verification of a captured request. Also every published vector.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { publishedVectors, selfTest } from "../../../plugins/inbound-auth/commands/verify.ts"
import { CommandFolder } from "./command.ts"

const github = publishedVectors.find(({ provider }) => provider === "github")
const slack = publishedVectors.find(({ provider }) => provider === "slack")

describe("pipelines verify", () => {
  const folder = new CommandFolder()
  after(() => folder.remove())
  const capture = (name: string, request: object) =>
    folder.write(name, JSON.stringify({ method: "POST", url: "https://x.test/", ...request }))

  it("verifies what was captured, and says why it does not", async () => {
    capture("good.json", github?.request ?? {})
    capture("changed.json", { ...github?.request, body: "Hello, World?" })
    capture("bare.json", { headers: {}, body: "{}" })
    folder.write("marked.json", `\uFEFF${JSON.stringify(github?.request)}`)
    const verify = (file: string, ...more: string[]) =>
      folder.run(["verify", "--provider", "github", "--secret", github?.secret ?? "", "--request", file, ...more])
    const [good, changed, bare, json, marked] = await Promise.all([
      verify("good.json"),
      verify("changed.json"),
      verify("bare.json"),
      verify("changed.json", "--json"),
      verify("marked.json"),
    ])
    expect([marked.code, marked.output]).to.deep.equal([good.code, good.output])
    expect([good.code, changed.code, bare.code, json.code]).to.deep.equal([0, 1, 1, 1])
    expect(good.output).to.match(/^Verified: the request is from github/)
    expect(changed.output).to.match(/^Not verified \(wrong_secret\)\./)
    expect(bare.output).to.include("missing_header").and.include("x-hub-signature-256")
    expect(JSON.parse(json.output)).to.include({ ok: false, cause: "wrong_secret" })
    for (const { output } of [changed, bare, json])
      expect(output)
        .to.not.include(github?.secret ?? "")
        .and.not.include("757107ea")
  })

  it("judges age as of --now, and takes the rest of auth_config", async () => {
    capture("slack.json", slack?.request ?? {})
    const body = '{"a":1}'
    capture("own.json", { headers: { "X-Proof": `sha256=${createHmac("sha256", "s3cret").update(body).digest("base64")}` }, body })
    const [then, today, own] = await Promise.all([
      folder.run([
        "verify",
        "--provider",
        "slack",
        "--secret",
        slack?.secret ?? "",
        "--request",
        "slack.json",
        "--now",
        String(slack?.now_s),
      ]),
      folder.run(["verify", "--provider", "slack", "--secret", slack?.secret ?? "", "--request", "slack.json"]),
      folder.run([
        "verify",
        "--provider",
        "hmac_sha256",
        "--secret",
        "s3cret",
        "--request",
        "own.json",
        "--config",
        '{"header":"X-Proof","encoding":"base64"}',
      ]),
    ])
    expect([then.code, today.code, own.code]).to.deep.equal([0, 1, 0])
    expect(today.output).to.include("timestamp_too_old")
  })

  it("ends with 2 where nothing could be judged, naming the option", async () => {
    capture("ok.json", { headers: {}, body: "" })
    folder.write("no.json", "{ no json")
    const [provider, request, secret, now, config] = await Promise.all([
      folder.run(["verify", "--provider", "githb", "--secret", "s", "--request", "ok.json"]),
      folder.run(["verify", "--provider", "github", "--secret", "s", "--request", "no.json"]),
      folder.run(["verify", "--provider", "github", "--request", "ok.json"]),
      folder.run(["verify", "--provider", "github", "--secret", "s", "--request", "ok.json", "--now", "soon"]),
      folder.run(["verify", "--provider", "hmac_sha256", "--secret", "s", "--request", "ok.json", "--config", '{"foo":1}']),
    ])
    expect([provider, request, secret, now, config].map(({ code }) => code)).to.deep.equal([2, 2, 2, 2, 2])
    expect(provider.output).to.include('No provider "githb" is known. Did you mean github?')
    expect(config.output.trim()).to.equal(
      'auth_config.foo: Unknown field "foo". There are: header, encoding, require_timestamp, tolerance_s.',
    )
    expect(request.output).to.include("--request no.json is not readable as JSON")
    expect(secret.output).to.include("--secret is needed")
    expect(now.output).to.include('--now "soon"')
  })

  it("judges every published vector that ships, and tells a wrong one", async () => {
    const { code, output } = await folder.run(["verify", "--self-test"])
    expect(code, output).to.equal(0)
    expect(publishedVectors.length).to.be.at.least(6)
    expect(output).to.include(`${publishedVectors.length} of ${publishedVectors.length} published vectors verify`)
    for (const { provider, url } of publishedVectors) {
      expect(output).to.include(`ok     ${provider}`)
      expect(url).to.match(/^https:\/\//)
    }
    const [first] = publishedVectors
    if (!first) throw new Error("there are no vectors")
    const [wrong] = await selfTest([{ ...first, secret: "whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }])
    expect(wrong).to.include({ ok: false })
    expect(wrong?.problem).to.include("wrong_secret")
  })
})
