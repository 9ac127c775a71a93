// The inbox in Chromium by keyboard: people's messages as text, the permission to message them, and replies of each kind.
import { expect } from "chai"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { consoleUnderTest } from "../console/browser.ts"
import { connect, type Providers, providerEnv, startProviders } from "./providers.ts"
import { chatMessage, conversationOf, type Endpoints, makePipelines, own, postMeta, postTwilio } from "./webhooks.ts"

const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202Eevil`
const [ada, grace, noor] = ["+4915110000001", "+4915110000002", "+4915110000003"]
const dayMs = 86_400_000

describe("the screens of conversations", () => {
  let providers: Providers
  let urls: Endpoints
  const testConsole = consoleUnderTest(async () => {
    providers = await startProviders()
    const settings = pluginSettings({ conversations: { quiet_from: "00:00", quiet_until: "00:00" } })
    return { env: { ...providerEnv(providers), ...settings }, capture: false }
  })
  before(async () => {
    const { host } = testConsole
    await connect(host, providers)
    urls = await makePipelines(host)
    providers.templates = [{ name: "order_ready", language: "en_US", status: "APPROVED", category: "UTILITY" }]
    await host.api("POST", `/v1/voice/phone-numbers/${encodeURIComponent(own)}/templates`)
  })
  after(() => providers.close())

  const write = async (id: string, from: string, message: Parameters<typeof chatMessage>[2]) => {
    expect((await postMeta(urls.meta, chatMessage(id, from, message))).status).to.equal(200)
  }
  const messageWith = (text: RegExp) => until(`${String(text)} being sent`, () => providers.sent.find((message) => text.test(message.text)))

  it("show what strangers wrote as text, take an answer, and show what comes meanwhile", async () => {
    const { host } = testConsole
    const at = host.clock.now()
    await write("wamid.a1", ada, { at: at - 5_000, name: hostile, body: `${hostile} \u0645\u0631\u062d\u0628\u0627` })
    const location = { latitude: 52.52, longitude: 13.4, name: hostile, address: "Berlin" }
    await write("wamid.a2", ada, { at: at - 4_000, name: hostile, type: "location", body: location, context: { id: "wamid.a1" } })
    await write("wamid.a3", ada, { at: at - 3_000, name: hostile, type: "reaction", body: { message_id: "wamid.a1", emoji: "👍" } })
    const page = await testConsole.signedIn("/console/conversations")
    await page.getByText("to be answered").waitFor()
    await testConsole.looksRight(page, "conversations")
    await testConsole.tabTo(page, /onerror/)
    await page.keyboard.press("Enter")
    const messages = page.getByRole("list", { name: "Messages" })
    await messages.getByText("👍").waitFor()
    await messages.getByText("52.52, 13.4").waitFor()
    await page.getByRole("region", { name: "May they be written to" }).getByText("in the last 24 hours").waitFor()
    expect(await page.locator("main img").count()).to.equal(0)
    expect(await page.locator("main").textContent()).to.not.include("\u202E")
    expect(await page.title()).to.not.equal("hit")
    await testConsole.tabTo(page, "Text")
    await page.keyboard.type("We are open until six")
    await page.keyboard.press("Control+Enter")
    expect(await messageWith(/until six/)).to.include({ channel: "chat_app", to: ada })
    await messages.getByText("We are open until six").waitFor()
    await messages.getByText("accepted").waitFor()
    expect(await page.getByLabel("Text").inputValue()).to.equal("")
    await write("wamid.a4", ada, { at: host.clock.now(), name: hostile, body: "Thank you" })
    await messages.getByText("Thank you").waitFor()
    await testConsole.looksRight(page, "conversation")
    expect(providers.sent.filter(({ to }) => to === ada)).to.have.length(1)
  })

  it("say that the window is closed, send an approved template, and show what waits for approval", async () => {
    const { host } = testConsole
    await write("wamid.g1", grace, { at: host.clock.now() - 2 * dayMs, name: "Grace", body: "Is it ready?" })
    const { session_id } = await until("the conversation", () => conversationOf(host, "chatapp", grace))
    const page = await testConsole.signedIn(`/console/conversations/chat/${session_id}`)
    const locator = page.getByRole("region", { name: "May they be written to" })
    await locator.getByText("approved templates only").waitFor()
    await page.getByRole("option", { name: "order_ready (en_US)" }).waitFor({ state: "attached" })
    await page.getByLabel("Text", { exact: true }).fill("It is")
    await page.getByRole("button", { name: "Send" }).press("Enter")
    await page.getByRole("alert").getByText("approved templates only").waitFor()
    await testConsole.tabTo(page, "Template")
    await page.keyboard.press("o")
    await testConsole.tabTo(page, "Values of its variables, one a line")
    await page.keyboard.type("A-1")
    await testConsole.tabTo(page, "Send")
    await page.keyboard.press("Enter")
    await messageWith(/order_ready/)
    await page.getByRole("list", { name: "Messages" }).getByText("order_ready").waitFor()
    await host.api("PUT", "/v1/autonomy-gates", { gates: ["conversations.send"] })
    await page.getByLabel("Template").selectOption("order_ready (en_US)")
    await page.getByRole("button", { name: "Send" }).press("Enter")
    const waiting = page.getByRole("region", { name: "Waiting for approval" })
    await waiting.getByRole("link").waitFor()
    await testConsole.looksRight(page, "conversation-waiting")
    await host.api("PUT", "/v1/autonomy-gates", { gates: [] })
    expect(providers.sent.filter(({ to }) => to === grace)).to.have.length(1)
  })

  it("list text messages and mail beside them, and offer a member no more than they may do", async () => {
    const { host } = testConsole
    await postTwilio(urls.twilio, { MessageSid: "SMn1", From: noor, To: own, Body: "STOP", SmsStatus: "received" })
    const pipeline = [{ type: "email.send", await: true, to: "{{ event.email }}", heading: "{{ event.heading }}" }]
    await host.api("POST", "/v1/event-pipelines", { name: "Thank", state: "active", source_kind: "internal", pipeline })
    const payload = { email: "noor@example.com", heading: hostile }
    await host.api("POST", "/v1/event-pipelines/thank/events", { payload })
    const response = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Colleague", role: "member" })
    const page = await testConsole.signedIn("/console/conversations?channel=text", { key: response.body.secret })
    await page.getByText("opted out").waitFor()
    await page.getByRole("link", { name: noor }).press("Enter")
    await page.getByRole("region", { name: "May they be written to" }).getByText("opted out").waitFor()
    await page.getByRole("button", { name: "Send" }).waitFor()
    expect(await page.getByRole("button", { name: "Delete the conversation" }).count()).to.equal(0)
    await page.goto(`${host.url}/console/conversations?channel=mail`)
    await page.getByRole("link", { name: "noor@example.com" }).press("Enter")
    await page.getByRole("list", { name: "Messages" }).getByText("onerror").first().waitFor()
    expect(await page.locator("main img").count()).to.equal(0)
    expect(await page.locator("main").textContent()).to.not.include("\u202E")
    await testConsole.looksRight(page, "conversation-mail")
  })
})
