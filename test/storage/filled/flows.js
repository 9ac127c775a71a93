// The ways in which fill.js fills a store: a company after a week, every example of an operation, and what comes from outside.

/** Flows by name. Each gets `start`, which starts a service on the same data. */
export function flowsOf(from) {
  return {
    company: company(from),
    examples: examples(from),
    mail: mail(from),
    messages: messages(from),
    visits: visits(from),
    others: others(from),
    grants: grants(from),
    jobs: leftJobs(from),
  }
}

const ok = async (host, method, path, body, key) => {
  const answer = await host.api(method, path, body, key === undefined ? {} : { key })
  if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const tried = async (what, run) => {
  try {
    return await run()
  } catch (error) {
    console.log(`  ${what}: ${error.message.slice(0, 300)}`)
  }
}

const company = (from) => async (start) => {
  const { Filling, optionsOf, startServers } = await from("test/plugins/console/filled.ts")
  const servers = await startServers()
  const host = await start(optionsOf(servers))
  await new Filling(host, servers).all()
}

const examples = (from) => async (start) => {
  const { Operations } = await from("core/contract/operation.ts")
  const { exampleOf, liftGates, members } = await from("test/surface/parity/members.ts")
  const { ofPersons } = await from("test/surface/parity/account.ts")
  const { pluginSettings } = await from("test/plugins/buckets/stores.ts")
  const model = { base_url: "https://models.example/v1", model: "fixture", prices: { input: 0, output: 0 } }
  const host = await start({
    capture: true,
    env: {
      ...Object.fromEntries(["KEY", "ORGANIZATION", "ADDRESS"].map((who) => [`MILLRACE_RATE_LIMITS_${who}_PER_MINUTE`, "1000000"])),
      ...pluginSettings({
        identity: { codes_per_email_hour: 1_000 },
        screenshots: { executable: "/nowhere/chromium" },
        models: { default: model },
        "page-analytics": { ready_processes: 0, threads: 1 },
      }),
      MILLRACE_PUBLIC_URL: "http://localhost:8080",
    },
  })
  host.outgoing.fixtures.push(answerOf)
  const operations = new Map(host.runtime.registry.items(Operations).map((operation) => [operation.name, operation]))
  const fixture = { host, operations }
  for (const slug of ["second-house", "third-house"]) {
    const [member] = await members(fixture, [slug])
    await liftGates(fixture, member)
    const known = { answers: new Map(), again: false }
    for (const operation of operations.values()) {
      if (["members.leave", "members.remove", "ownership.accept", "event_pipelines.apply", "organization.archive"].includes(operation.name))
        continue
      // Of the second organization nothing ends.
      if (slug === "second-house" && operation.hints.destructive && /delete|remove|archive|revoke|disconnect/.test(operation.name)) continue
      await inTime(operation.name, exampleOf(fixture, member, operation, known)).catch(() => undefined)
    }
  }
  for (const name of ["passkeys.offer", "passkeys.list", "me.change_address", "member_invitations.accept", "ownership.accept"]) {
    const operation = operations.get(name)
    const [person] = await members(fixture, [`person-${name.replaceAll(/[._]/g, "-")}`], operation)
    if (!ofPersons.test(name)) await liftGates(fixture, person)
    await tried(name, () => exampleOf(fixture, person, operation))
  }
  await host.api("POST", "/v1/datasets", { name: "Repeated" }, { headers: { "idempotency-key": "repeated-1" } })
}

/** An example can wait for a job that is parked. */
async function inTime(name, example) {
  const late = Symbol("late")
  let timer
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, 3_000, late)
  })
  const outcome = await Promise.race([example, limit])
  clearTimeout(timer)
  if (outcome === late) console.log(`  ${name} waits`)
}

/** A model that judges, and agents that take their time. */
function answerOf({ url, body = "" }) {
  if (url.startsWith("https://agents.example.com/")) return { status: 202, headers: {}, body: "" }
  const headers = { "content-type": "application/json" }
  if (url.startsWith("https://api.crm.example.com/")) return { status: 200, headers, body: '{"output":"We are open."}' }
  if (!url.startsWith("https://models.example/")) return undefined
  const verdict = { reasoning: "Longer.", winner: "A", confidence: 0.5 }
  const said = body.includes("cannot_judge")
    ? { reasoning: "As expected.", verdict: "pass" }
    : body.includes("likelihood")
      ? { answer: "Fair.", likelihood: 3 }
      : verdict
  const choices = [{ index: 0, message: { role: "assistant", content: JSON.stringify(said) }, finish_reason: "stop" }]
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  return {
    status: 200,
    headers,
    body: JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "fixture", choices, usage }),
  }
}

const mail = (from) => async (start) => {
  const { startReceiving, message } = await from("test/plugins/inbound-mail/receiving.ts")
  const { listenForMail } = await from("test/plugins/email/mail-server.ts")
  const { bounce } = await from("test/plugins/suppressions/reports.ts")
  const { Mailer } = await from("plugins/people/email/index.ts")
  const { until } = await from("test/waiting.ts")
  const mailbox = await listenForMail((to) => (to.startsWith("later") ? 451 : undefined))
  const service = await startReceiving({
    start,
    others: { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" }, organizations: {} },
  })
  const { host } = service
  await service.activate("mails.example.org", { from_local_part: "team", from_name: "Team", forward_to_email: "ada@mailboxes.test" })
  await ok(host, "POST", "/v1/event-pipelines", {
    name: "Replies",
    state: "active",
    source_kind: "inbound_email",
    pipeline: [{ type: "dataset.write", dataset_slug: "replies", row: { from: "{{ event.from }}" } }],
  })
  for (let n = 1; n <= 5; n++) {
    const sender = `writer${n}@elsewhere.test`
    await service.send(
      sender,
      "team@mails.example.org",
      message({ From: sender, To: "team@mails.example.org", "Message-ID": `<m${n}@elsewhere.test>`, Subject: `Mail ${n}` }),
    )
  }
  await until("mail conversations", async () => (await ok(host, "GET", "/v1/email-conversations")).conversations.length >= 3)
  const organization = host.organization.id
  for (const [n, to] of ["gone@elsewhere.test", "soft@elsewhere.test", "soft2@elsewhere.test"].entries()) {
    await tried("sent mail", () =>
      host
        .get(Mailer)
        .send({ organization, to, heading: "Hello", at: "2026-01-02T03:04:05.006Z", idempotencyKey: `mail ${n}`, keep: true }),
    )
    const back = mailbox.received.at(-1)?.from ?? ""
    await tried("bounce", () => service.send("", back, bounce([{ final: to, status: n === 0 ? "5.1.1" : "4.2.2" }])))
  }
  await tried("partial", () =>
    host.get(Mailer).send({
      organization,
      to: ["one@elsewhere.test", "later@elsewhere.test"],
      heading: "Hello",
      at: "2026-01-02T03:04:05.006Z",
      idempotencyKey: "partial",
    }),
  )
  for (const to of ["grace@elsewhere.test", "alan@elsewhere.test"])
    await tried("invitation", () => ok(host, "POST", "/v1/member-invitations", { email: to, role: "member" }))
  const sent = await ok(host, "POST", "/v1/event-pipelines", {
    name: "Letters",
    state: "active",
    source_kind: "internal",
    pipeline: [{ type: "email.send", to: "{{ event.email }}", subject: "Hello", heading: "Hello", gate: false }],
  }).catch((error) => console.log("  letters:", error.message.slice(0, 300)))
  if (sent)
    for (const email of ["reader@elsewhere.test", "reader2@elsewhere.test"])
      await tried("letter", () => ok(host, "POST", "/v1/event-pipelines/letters/events", { payload: { email } }))
  // A person asks for a code, and starts a change of the address.
  for (const email of ["grace@example.com", "grace@example.com"])
    await tried("sign-in", async () => {
      const headers = { "content-type": "application/json", origin: host.url }
      const answer = await fetch(`${host.url}/console-session/code`, { method: "POST", headers, body: JSON.stringify({ email }) })
      if (answer.status > 299) throw new Error(`${answer.status} ${await answer.text()}`)
    })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
}

const messages = (from) => async (start) => {
  const { postMeta, postTwilio, chatMessage, own } = await from("test/plugins/conversations/webhooks.ts")
  const { startProviders, providerEnv, accountSid } = await from("test/plugins/conversations/providers.ts")
  const { pluginSettings } = await from("test/plugins/buckets/stores.ts")
  const providers = await startProviders()
  const env = { ...providerEnv(providers), ...pluginSettings({ conversations: { quiet_from: "00:00", quiet_until: "00:00" } }) }
  const host = await start({ env })
  const pipelines = await ok(host, "GET", "/v1/event-pipelines?limit=200")
  const urlOf = (provider) => pipelines.event_pipelines.find(({ name }) => name === `Webhooks of ${provider}`).inbound_url
  const urls = {
    meta: urlOf("meta_whatsapp").replace(/^http:\/\/[^/]+/, host.url),
    twilio: urlOf("twilio").replace(/^http:\/\/[^/]+/, host.url),
  }
  const said = Date.now() - 30_000
  const text = (n, Body) => ({ MessageSid: `SM${n}`, AccountSid: accountSid, From: `+49151200000${n % 10}`, To: own, Body, NumMedia: "0" })
  for (let n = 1; n <= 4; n++) {
    await postMeta(urls.meta, chatMessage(`wamid.f${n}`, `+4915120000${n}`, { at: said + n, name: "Noor", body: "Hello" }))
    await tried("text message", () => postTwilio(urls.twilio, text(n, "Hello")))
  }
  await postMeta(urls.meta, chatMessage("wamid.stop", "+49151200001", { at: said + 900, body: "STOP" }))
  await tried("opt-out", () => postTwilio(urls.twilio, text(2, "STOP")))
  const image = { id: "media-1", mime_type: "image/png", caption: "Look" }
  for (const id of ["wamid.p1", "wamid.p2"])
    await postMeta(urls.meta, chatMessage(id, "+49151200003", { at: said + 950, type: "image", body: image }))
  const system = { body: "User changed", type: "user_changed_number", wa_id: "4915120000399" }
  for (const [id, number] of [
    ["wamid.c1", "4915120000"],
    ["wamid.c2", "49151200004"],
  ])
    await postMeta(urls.meta, { messages: [{ from: number, id, timestamp: String(Math.floor(said / 1_000)), type: "system", system }] })
  await postMeta(urls.meta, {
    messages: Array.from(
      { length: 120 },
      (_, n) => chatMessage(`wamid.many${n}`, "+49151200002", { at: said + 1_000 + n, body: `${n}` }).messages[0],
    ),
  })
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  for (const [channel, to] of [
    ["chat_app", "+49151200002"],
    ["chat_app", "+49151200003"],
    ["sms", "+491512000003"],
    ["sms", "+491512000004"],
  ])
    await tried(`message by ${channel}`, () => ok(host, "POST", "/v1/voice/messages", { channel, from: own, to, text: "Good morning" }))
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const ids = providers.sent?.map(({ provider_id }) => provider_id) ?? []
  const status = (id, state) => ({
    statuses: [{ id, status: state, timestamp: String(Math.floor(said / 1_000)), recipient_id: "49151200002" }],
  })
  for (const id of [...ids, "wamid.unknown1", "wamid.unknown2"]) {
    await postMeta(urls.meta, status(id, "delivered"))
    await tried("report", () =>
      postTwilio(urls.twilio, {
        MessageSid: id,
        SmsSid: id,
        AccountSid: accountSid,
        MessageStatus: "delivered",
        From: own,
        To: "+491512000003",
      }),
    )
  }
  providers.templates = ["hello", "bye"].map((name, n) => ({
    id: String(n),
    name,
    language: "en",
    status: "APPROVED",
    category: "MARKETING",
    components: [{ type: "BODY", text: "Hello" }],
  }))
  for (let n = 0; n < 2; n++)
    await tried("templates", () => ok(host, "POST", `/v1/voice/phone-numbers/${encodeURIComponent(own)}/templates`))
  await new Promise((resolve) => setTimeout(resolve, 1_500))
}

const visits = (from) => async (start) => {
  const { Loop, event, someone } = await from("test/plugins/page-events/loop.ts")
  const loop = new Loop(await start())
  const page = await loop.publish([{ key: "control", html: "<h1>Hello</h1><form><input name='email'></form>" }], "Visited page")
  const { inbound_url } = await loop.pipeline(page)
  const url = inbound_url.replace(/^http:\/\/[^/]+/, loop.host.url)
  for (let n = 0; n < 4; n++) {
    const _envelope = { session_id: undefined, visitor_id: `visitor-${n}` }
    for (const kind of ["pageview", "form_start"])
      await tried("event", () => loop.send(url, page, { ...event(kind), _envelope }, someone()))
    await tried("batch", () =>
      loop.send(url, page, { events: [event("pageview"), event("cta_click")], _envelope: { batch_id: `batch-${n}` } }, someone()),
    )
  }
  await tried("lead", () => loop.send(url, page, { ...event("lead"), email: "visitor@elsewhere.test" }, someone()))
  loop.host.clock.move(45 * 60_000)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
}

const others = (from) => async (start) => {
  const { pluginSettings } = await from("test/plugins/buckets/stores.ts")
  const model = { base_url: "https://models.example/v1", model: "fixture", prices: { input: 0, output: 0 } }
  const first = await start({ capture: true, env: pluginSettings({ models: { default: model } }) })
  first.outgoing.fixtures.push(answerOf)
  const made = await ok(first, "POST", "/v1/event-pipelines", {
    name: "Applications",
    state: "active",
    auth_mode: "none",
    accept_files: true,
    pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "applications", key: "email" }],
  })
  for (const n of [1, 2]) {
    const form = new FormData()
    form.set("email", `applicant${n}@elsewhere.test`)
    form.append("cv", new File(["My life"], "cv.txt", { type: "text/plain" }))
    await fetch(made.inbound_url, { method: "POST", body: form })
  }
  const long = "An okapi walks at night. ".repeat(2_000)
  for (const title of ["Okapi", "Okapi by night", "Gone"])
    await ok(first, "POST", "/v1/knowledge", { title, content: title === "Okapi" ? long : "Short." })
  for (let n = 0; n < 3; n++)
    await tried("upload", async () => {
      const offer = await ok(first, "POST", "/v1/knowledge-uploads", {})
      await fetch(offer.upload_url.replace(/^http:\/\/[^/]+/, first.url), { method: "PUT", body: "Uploaded text." })
    })
  const { Ids, Leases, Log, Clock, Store, UnitsOfWork } = await from("core/index.ts")
  const { Organizations } = await from("plugins/platform/organizations/index.ts")
  const { IndexBuilder } = await from("plugins/events/finding/builder.ts").catch(() => ({}))
  await tried("index of events", async () => {
    const [works, organizations] = [first.get(UnitsOfWork), first.get(Organizations)]
    const services = {
      store: first.get(Store),
      works,
      clock: first.get(Clock),
      ids: first.get(Ids),
      leases: first.get(Leases),
      log: first.get(Log),
    }
    await new IndexBuilder({ ...services, organizations: () => organizations.all(), payloadsDays: 7, minEntries: 1 }).turn()
  })
  await ok(first, "POST", "/v1/event-pipelines", {
    name: "Once",
    state: "active",
    source_kind: "internal",
    dedupe: { key: "{{ payload.n }}", window: "720h" },
    pipeline: [{ type: "dataset.write", dataset_slug: "once", row: { n: "{{ event.n }}" } }],
  }).catch((error) => console.log("  once:", error.message.slice(0, 200)))
  await tried("once", () => ok(first, "POST", "/v1/event-pipelines/once/events", { payload: { n: 1 } }))
  for (let n = 0; n < 2; n++)
    await tried("run of evals", () => ok(first, "POST", "/v1/evals/suites/answers-of-the-front-desk/runs", { repeats: 1 }))
  await ok(first, "PUT", "/v1/autonomy-gates", { gates: null })
  const call = { channel: "chat_app", from: "+493012345678", to: "+49151200002", text: "May I?" }
  for (let n = 0; n < 2; n++) await tried("gated call", () => ok(first, "POST", "/v1/voice/messages", call))
  const { knowledge = [] } = (await tried("knowledge", () => ok(first, "GET", "/v1/knowledge?limit=200"))) ?? {}
  for (const { id, title } of knowledge) if (title === "Gone") await tried("deletion", () => ok(first, "DELETE", `/v1/knowledge/${id}`))
  await new Promise((resolve) => setTimeout(resolve, 1_500))
}

/** Grants of a vendor: one that is used, one that is ended, and one that has begun. */
const grants = (from) => async (start) => {
  const { startOAuth } = await from("test/plugins/integrations/oauth/service.ts")
  await start.end()
  const service = await startOAuth({}, { dataDir: start.dataDir, env: start.env })
  start.adopt(service.host)
  for (const name of ["Used", "Ended", "Ended too"]) {
    const id = await service.connected(name)
    await service.call(id)
    if (name !== "Used") await ok(service.host, "DELETE", `/v1/integrations/${id}`)
  }
  await service.begin("Begun")
  await new Promise((resolve) => setTimeout(resolve, 500))
}

/** Types of jobs that no flow enqueues. The payloads name what does not exist any more. */
const leftJobs = (from) => async (start) => {
  const { JobQueue, UnitsOfWork } = await from("core/index.ts")
  const { Jobs } = await from("core/contract/job.ts")
  const host = await start()
  const organization = host.organization.id
  const id = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
  const payloads = {
    "conversations.move": { channel: "sms", from: "+49151200000", to: "+49151200099", until: null },
    "conversations.receive_piece": undefined,
    "conversations.retention": {},
    "conversations.settle": { channel: "chatapp", provider_id: "wamid.unknown", message_id: null },
    "evals.check_widget": { check_id: id, screenshot_id: id },
    "evals.watch_widget": {},
    "evals.nightly": { suite_id: id },
    "experiments.allocate": { experiment_id: id },
    "experiments.record_live": { experiment_id: id },
    "integrations.end_broker_connection": { integration: "vendor-prod", connection_id: "gone" },
    "integrations.check_health": { id },
    "leads.catch_up": {},
    "screenshots.expire": { id },
    "sending_domains.check": { organization, domain: "example.com" },
    "models.book_lost": { budget: "day 2026-01-01" },
    "page_events.session_end": { organization, slug: "default", visitor: "visitor-0", session_id: "gone" },
    "inbound_mail.purge": { organization, raw_key: "mails/gone" },
  }
  await host.get(UnitsOfWork).run((work) => {
    for (const job of host.runtime.registry.items(Jobs))
      if (payloads[job.type] !== undefined)
        host.get(JobQueue).enqueue(work, job, payloads[job.type], { organization, runAt: Date.now() + 200 * 86_400_000 })
  })
}
