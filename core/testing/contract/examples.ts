// "Its examples compile and run", what they give is what the action declares, and what they call goes through the service.
import { isDeepStrictEqual } from "node:util"
import type { ActionExample } from "../../contract/action.ts"
import { schemaProblems } from "../../pipeline/compile/schema-problems.ts"
import { type ContractFixture, differing, stepDone } from "./fixture.ts"
import { withOwnCalls } from "./own-calls.ts"
import { stepOf } from "./subject.ts"
import { violation } from "./violation.ts"

export async function runsExample(fixture: ContractFixture, example: ActionExample): Promise<void> {
  const { action } = fixture.subject
  const step = stepOf(example)
  if (step["type"] !== action.type) violation(`The example is one of "${String(step["type"])}", not of "${action.type}".`)
  const site = await fixture.site()
  const pipeline = await site.make(step)
  const before = await site.everything()
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
