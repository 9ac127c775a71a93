// "Its examples compile and run": their results match the declaration, and their calls go through the service.
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

// Detects direct calls of an action. Tests cannot answer them, the check for public addresses does not apply, and a rehearsal
// really sends them. Node reports each request of `fetch` and `http`.

const fetching = "undici:request:create"
const requesting = "http.client.request.start"

/** Returns the result of `during` and the hosts of the action's direct calls. */
async function withOwnCalls<T>(action: AnyAction, during: () => Promise<T>): Promise<{ result: T; called: string[] }> {
  const running = new AsyncLocalStorage<true>()
  const called: string[] = []
  const note = (host: string) => {
    // Other code in this process may call freely.
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
