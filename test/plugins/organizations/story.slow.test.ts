// The story of an organization in Chromium, on two nodes with mail over SMTP: the first owner, a second organization, a colleague
// who decides the owner's request, and the removal of the colleague.
import { expect } from "chai"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { io, type Socket } from "socket.io-client"
import { Vault } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { createOperatorLink } from "../../../plugins/platform/identity/index.ts"
import { launchChromium } from "../../chromium.ts"
import { freePort } from "../../free-port.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { accountSid, authToken, ownNumber, startTrustHub, type TrustHubServer } from "../voice/trust-hub.ts"

const onMongo = mongoAvailable ? describe : describe.skip
const testMs = 600_000
const [owner, colleague] = ["ada@example.com", "grace@example.com"]

onMongo("an organization from its first start to a removal (mongodb)", () => {
  const nodes: TestHost[] = []
  let mailbox: MailServer
  let hub: TrustHubServer
  let browser: Browser
  let url: string
  before(async function () {
    this.timeout(testMs)
    mailbox = await listenForMail()
    hub = await startTrustHub()
    const port = await freePort()
    url = `http://localhost:${port}`
    const env = {
      MILLRACE_STORAGE_URL: await lendDatabaseToFile(),
      MILLRACE_PUBLIC_URL: url,
      MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${hub.port}`,
      MILLRACE_JOBS_POLL_MS: "50",
      ...pluginSettings({
        email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" },
        voice: { trust_hub_url: hub.origin, twilio_url: hub.origin },
      }),
    }
    const first = await testHost({ env: { ...env, PORT: String(port) }, capture: false })
    nodes.push(first, await testHost({ env, capture: false, dataDir: first.dataDir }))
    // Without the single-process flags: each context has its own cookies.
    browser = await launchChromium(["--no-sandbox"])
  })
  after(async () => {
    await browser?.close()
    for (const node of nodes.reverse()) await node.stop()
    await hub?.close()
    await mailbox?.close()
  })

  const move = (ms: number) => {
    for (const node of nodes) node.clock.move(ms)
  }
  const mailsTo = (email: string) => mailbox.received.filter(({ recipients }) => recipients.includes(email))
  const nextMail = async (email: string, before: number) => {
    move(1_000)
    return (await until(`a mail to ${email}`, () => mailsTo(email)[before]))?.mail
  }
  const open = async (path: string): Promise<{ page: Page; context: BrowserContext }> => {
    const context = await browser.newContext({ locale: "en-US" })
    context.setDefaultTimeout(120_000)
    const page = await context.newPage()
    await page.goto(url + path)
    return { page, context }
  }
  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click()
  const confirm = async (page: Page, name: string) => {
    await press(page, name)
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click()
  }
  const enterCode = async (page: Page, email: string, before: number) => {
    const code = /\d{6}/.exec((await nextMail(email, before))?.subject ?? "")?.[0] ?? ""
    await page.getByLabel("Code", { exact: true }).fill(code)
    await press(page, "Continue")
  }
  /** From the page, with its session. The clocks of the nodes move, so a node may lose its lease for a moment. */
  const call = <T = Record<string, unknown>>(page: Page, method: string, path: string, body?: object) =>
    patiently(() =>
      page.evaluate(
        async ([method, path, body]) => {
          const init = { method, ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }) }
          const answer = await fetch(path, init)
          return { status: answer.status, body: (await answer.json()) as T }
        },
        [method, path, body] as [string, string, object | undefined],
      ),
    )
  const ask = (at: string, headers: Record<string, string>, more?: RequestInit) => patiently(() => fetch(at, { ...more, headers }))
  const byKey = (node: TestHost, key: string) => ask(`${node.url}/v1/me`, { authorization: `Bearer ${key}` })
  const byCookie = (node: TestHost, cookie: string) => ask(`${node.url}/v1/me`, { cookie })
  const byTool = (node: TestHost, key: string) =>
    ask(
      `${node.url}/mcp`,
      { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
      { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }) },
    )
  const dial = async (node: TestHost, key: string): Promise<Socket> => {
    const socket = io(node.url, { path: "/live", auth: { token: key }, reconnection: false, forceNew: true, transports: ["websocket"] })
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
    return socket
  }

  it("lets a colleague decide about the owner's request, and refuses everything of the colleague after the removal", async function () {
    this.timeout(testMs)
    const [first] = nodes as [TestHost]
    const link = createOperatorLink(first.get(Vault), first.clock.now(), { owner: true })
    const { page } = await open(`/console#code=${link}`)
    await page.getByLabel("Name", { exact: true }).fill("Ada Lovelace")
    await page.getByLabel("Your email").fill(owner)
    await press(page, "Begin")
    await page.getByLabel("Code", { exact: true }).waitFor()
    await enterCode(page, owner, 0)
    await page.getByText(`Signed in as ${owner}, owner`).waitFor()

    await page.goto(`${url}/console/organizations`)
    await page.getByLabel("Name", { exact: true }).fill("Bakery")
    await press(page, "Create")
    await page.getByRole("status").getByText("Bakery was created").waitFor()
    await page.getByLabel("Organization", { exact: true }).selectOption({ label: "Bakery" })
    await page.getByRole("row", { name: "Bakery" }).getByText("open", { exact: true }).waitFor()

    await page.goto(`${url}/console/members?list=invitations`)
    await page.getByLabel("Email").fill(colleague)
    await press(page, "Invite")
    await page.getByRole("status").getByText(colleague).waitFor()
    const invitation = /https?:\S+#code=\S+/.exec((await nextMail(colleague, 0))?.text ?? "")?.[0] ?? ""
    const { page: own, context } = await open(invitation.slice(url.length))
    await own.getByLabel("Your name").fill("Grace Hopper")
    await press(own, "Join")
    await own.getByText(`Signed in as ${colleague}, member`).waitFor()
    await press(own, "Sign out")
    const mails = mailsTo(colleague).length
    await own.getByLabel("Email").fill(colleague)
    await press(own, "Mail me a code")
    await enterCode(own, colleague, mails)
    await own.getByText(`Signed in as ${colleague}, member`).waitFor()

    const devtools = await context.newCDPSession(own)
    await devtools.send("WebAuthn.enable")
    await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await own.goto(`${url}/console/account`)
    await press(own, "Add a passkey")
    await own.getByLabel("Name of the passkey This device").waitFor()

    await page.goto(`${url}/console/members`)
    await page.getByRole("link", { name: "Grace Hopper" }).click()
    await page.getByLabel("Role", { exact: true }).selectOption("admin")
    await press(page, "Change role")
    await page.getByRole("row", { name: "Grace Hopper" }).getByText("admin").waitFor()

    const credentials = { username: accountSid, password: authToken }
    const connected = await call(page, "POST", "/v1/integrations-connect", { app: "twilio", credentials, share_with_org: true })
    expect(connected.status, JSON.stringify(connected.body)).to.equal(200)
    await call(page, "PUT", "/v1/voice/caller-name", { name: "Bakery", phone_number: ownNumber, email: owner })
    const filed = await call<{ status: string; approval_request_id: string }>(page, "POST", "/v1/voice/caller-name", {})
    expect(filed.body.status, JSON.stringify(filed.body)).to.equal("pending_approval")
    await own.goto(`${url}/console/approvals/${filed.body.approval_request_id}`)
    await confirm(own, "Approve")
    await own.getByRole("heading", { name: "What became of it" }).waitFor()
    await until("the registration at Trust Hub", async () => {
      const { body } = await call<{ registration: { status: string } | null }>(page, "GET", "/v1/voice/caller-name")
      move(5_000)
      return hub.acted.length >= 8 && body.registration?.status
    })

    await own.goto(`${url}/console`)
    const response = await call<{ secret: string }>(own, "POST", "/v1/api-keys", { name: "Grace's script" })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    const key = response.body.secret
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ")
    for (const node of nodes) {
      const answers = await Promise.all([byKey(node, key), byCookie(node, cookie), byTool(node, key)])
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    }
    const sockets = await Promise.all(nodes.map((node) => dial(node, key)))

    await page.goto(`${url}/console/members`)
    await page.getByRole("link", { name: "Grace Hopper" }).click()
    await confirm(page, "Remove")
    await page.getByRole("heading", { name: "Grace Hopper was removed" }).waitFor()
    for (const node of nodes) {
      const answers = await Promise.all([byKey(node, key), byCookie(node, cookie), byTool(node, key)])
      expect(answers.map(({ status }) => status)).to.deep.equal([401, 401, 401])
    }
    for (const socket of sockets) await until("the socket closed", () => !socket.connected)
  })
})
