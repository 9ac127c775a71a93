// "Its examples compile and run", what they give is what the action declares, and what they call goes through the service.
import { AsyncLocalStorage } from "node:async_hooks"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { ClientRequest } from "node:http"
import { isDeepStrictEqual } from "node:util"
import type { ActionExample, AnyAction } from "../../contract/action.ts"
import { schemaProblems } from "../../pipeline/compile/config.ts"
import { type ContractFixture, differing, stepDone, violation, whileWatched } from "./fixture.ts"
import { stepOf } from "./subject.ts"

export async function runsExample(fixture: ContractFixture, example: ActionExample): Promise<void> {
  const { action } = fixture.subject
  const step = stepOf(example)
  if (step["type"] !== action.type) violation(`The example is one of "${String(step["type"])}", not of "${action.type}".`)
  const site = await fixture.site()
  const pipeline = await site.make(step)
  const before = await site.everythingAtRest()
  fixture.answerCalls()
  await site.dryRun(pipeline)
  const touched = differing(before, await site.everything())
  const { mails, calls } = fixture.rehearsal.outgoing
  if (touched.length > 0) violation(`A dry run left documents in ${touched.join(", ")}.`)
  if (mails.length + calls.length > 0) violation("A dry run sent something.")
  const { result: outcome, called } = await withOwnCalls(action, () => site.send(pipeline))
  if (called.length > 0)
    violation(
      `It calls ${called.join(", ")} directly, also in tests; use \`OutgoingHttp\`, or pass the call to the capture of \`Outgoing\` if there is one.`,
    )
  const result = stepDone(outcome)
  for (const one of step["for_each"] === undefined ? [result] : (result as unknown[])) {
    const parsed = action.result.safeParse(one)
    if (!parsed.success) {
      const problems = schemaProblems({ issues: parsed.error.issues, schema: action.result, value: one }, "").map(
        ({ pointer, message }) => `${pointer || "/"}: ${message}`,
      )
      violation(`Its result is not as declared. ${problems.join(" ")}`)
    }
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(parsed.data)), one))
      violation(`Its result ${JSON.stringify(one)} has undeclared fields; later steps could not read them.`)
  }
}

// Calls that an action makes past the service: no test can answer them, nothing keeps them to public addresses, and they
// are really made wherever the action is tried. Node tells of each request that its `fetch` and `http` begin.

const fetching = "undici:request:create"
const requesting = "http.client.request.start"

/** What `during` gave, and the hosts that the action called by itself in the course of it. */
async function withOwnCalls<T>(action: AnyAction, during: () => Promise<T>): Promise<{ result: T; called: string[] }> {
  const running = new AsyncLocalStorage<true>()
  const called: string[] = []
  const note = (host: string) => {
    // Others in this process may call whom they like.
    if (running.getStore()) called.push(host)
  }
  const onFetch = (message: unknown) => note(String((message as { request: { origin: unknown } }).request.origin))
  const onRequest = (message: unknown) => note(String((message as { request: ClientRequest }).request.getHeader("host")))
  subscribe(fetching, onFetch)
  subscribe(requesting, onRequest)
  try {
    return { result: await whileWatched(action, (run) => running.run(true, run), during), called }
  } finally {
    unsubscribe(fetching, onFetch)
    unsubscribe(requesting, onRequest)
  }
}
