// The overview in Chromium: each area's summary with links, and the screens of approvals and of a sending domain.
import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { Gatekeeper } from "#core/engine"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "./browser.ts"

describe("the overview", () => {
  const testConsole = consoleUnderTest()

  it("is calm where nothing happened yet", async () => {
    const page = await testConsole.signedIn("/console")
    await page.getByText("Nothing waits for a decision.").waitFor()
    await page.getByText("No experiment runs.").waitFor()
    await page.getByText("Nothing is connected.").waitFor()
    await page.getByText("Mail leaves from the default sender.").waitFor()
    await testConsole.looksRight(page, "overview-empty")
  })

  it("shows dead letters, which are retried there, domains that are not verified, and what waits", async () => {
    const { api } = testConsole.host
    await api("POST", "/v1/sending-domains", { domain: "example.com", from_local_part: "hello", from_name: "Ada" })
    await api("POST", "/v1/event-pipelines", {
      name: "Tell the CRM",
      state: "active",
      source_kind: "internal",
      pipeline: [{ id: "tell", type: "http.request", url: "https://crm.example.com/leads", retry: { max_attempts: 1 } }],
    })
    await api("POST", "/v1/event-pipelines/tell-the-crm/events", { payload: { email: "ada@example.com" } })
    await until("a dead letter", async () => (await api<{ jobs: unknown[] }>("GET", "/v1/jobs")).body.jobs[0])
    const page = await testConsole.signedIn("/console")
    const queue = page.getByRole("region", { name: "Queue" })
    await queue.getByText("pipeline.deferred").waitFor()
    await page.getByRole("region", { name: "Sending domains" }).getByText("pending").waitFor()
    await testConsole.looksRight(page, "overview")
    await queue.getByRole("link", { name: "dead letters" }).press("Enter")
    await page.getByRole("heading", { name: "jobs" }).waitFor()
    expect(new URL(page.url()).search).to.equal("?state=dead")
    await page.goBack()
    await page.getByRole("link", { name: "example.com" }).press("Enter")
    await page.getByRole("button", { name: "Check now" }).waitFor()
    await testConsole.looksRight(page, "sending-domain")
  })

  it("leads to what waits for a decision, which shows its exact input, and is decided once that is confirmed", async () => {
    const { api } = testConsole.host
    const gated = await api("POST", "/v1/event-pipelines", {
      name: "Gated",
      state: "active",
      source_kind: "internal",
      pipeline: [
        { id: "tell", type: "http.request", gate: true, url: "https://crm.example.com/gated", body: { email: "{{ event.email }}" } },
      ],
    })
    expect(gated.status, JSON.stringify(gated.body)).to.be.below(300)
    await api("POST", "/v1/event-pipelines/gated/events", { payload: { email: "<b>ada</b>@example.com" } })
    const { id } = await until(
      "an approval",
      async () => (await api<{ approvals: { id: string }[] }>("GET", "/v1/approvals?state=pending")).body.approvals[0],
    )
    const page = await testConsole.signedIn("/console")
    await page.getByRole("region", { name: "Approvals that wait" }).getByRole("link").first().press("Enter")
    await page.getByRole("region", { name: "Exact input" }).getByText("<b>ada</b>@example.com").waitFor()
    await testConsole.looksRight(page, "approval")
    // The command for a decision without a button.
    await page.locator(".same").filter({ hasText: "approvals.decide" }).locator("summary").press("Enter")
    await page.getByText(`millrace approvals decide ${id} --digest`).waitFor()
    await page.getByLabel("Note, for the record").fill("Not this one.")
    await page.getByRole("region", { name: "Decision" }).getByRole("button", { name: "Reject" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).and(page.locator(".danger")).press("Enter")
    await page.getByRole("region", { name: "Decision" }).getByText("Not this one.").waitFor()
    const decided = await api<{ state: string; note: string }>("GET", `/v1/approvals/${id}`)
    expect([decided.body.state, decided.body.note]).to.deep.equal(["rejected", "Not this one."])
    await page.goto(`${testConsole.host.url}/console/approvals`)
    await page.getByRole("region", { name: "Approvals" }).getByText("rejected").waitFor()
    await testConsole.looksRight(page, "approvals")

    // Another approval is approved in the form its reader has edited.
    await api("POST", "/v1/event-pipelines/gated/events", { payload: { email: "grace@example.com" } })
    const waiting = async () => (await api<{ approvals: { id: string }[] }>("GET", "/v1/approvals?state=pending")).body.approvals[0]
    const other = await until("another approval", waiting)
    await page.goto(`${testConsole.host.url}/console/approvals/${other.id}`)
    await page.getByText("Approve with changes").first().press("Enter")
    const edited = page.getByLabel("What is to be done instead, whole")
    const text = await edited.inputValue()
    await edited.fill(text.slice(1))
    await page.getByRole("button", { name: "Approve with changes" }).press("Enter")
    await page.getByRole("alert").getByText("is not JSON").waitFor()
    await edited.fill(text.replace("grace@", "hopper@"))
    await page.getByRole("button", { name: "Approve with changes" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Approve with changes" }).press("Enter")
    await page.getByRole("heading", { name: "What became of it" }).waitFor()
    await page.getByRole("region", { name: "Exact input" }).getByText("hopper@example.com").waitFor()
    const { input } = (await api<{ input: unknown }>("GET", `/v1/approvals/${other.id}`)).body
    expect(JSON.stringify(input)).to.include("hopper@example.com").and.not.include("grace@")
  })

  it("lets the only admin decide an own request after a sign-in, and not in a session of a key", async () => {
    const { host } = testConsole
    const me = (await host.api<{ user: { id: string }; credential: { id: string } }>("GET", "/v1/me")).body
    const id = randomUUID()
    await host.get(UnitsOfWork).run((work) => {
      host.get(Gatekeeper).file(work, host.organization.id, id, {
        gate: { name: "email.send", risk: "high", summary: "Sending mail." },
        subject: { kind: "operation", name: "datasets.create" },
        what: "Do what the owner asked for.",
        why: "",
        requester: { credential_id: me.credential.id, user_id: me.user.id, surface: "rest" },
        input: { name: "Asked" },
        job: randomUUID(),
      })
    })
    const byKey = await testConsole.signedIn(`/console/approvals/${id}`)
    await byKey.getByText("This is your own request.").waitFor()
    expect(await byKey.getByRole("button", { name: "Reject" }).count()).to.equal(0)
    const page = await testConsole.signedInAsOwner(`/console/approvals/${id}`)
    await page.getByRole("button", { name: "Reject" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).press("Enter")
    await page.getByRole("heading", { name: "What became of it" }).waitFor()
    for (const name of ["Where it comes from", "Decision"]) await page.getByRole("region", { name }).getByText("the first owner").waitFor()
    expect((await host.api<{ state: string }>("GET", `/v1/approvals/${id}`)).body.state).to.equal("rejected")
  })
})
