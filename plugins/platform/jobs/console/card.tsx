// Queued and dead jobs, with the errors of the newest dead jobs.
import { Answered, Figure, OperationButton, type Output, UntrustedText, useAnswer } from "#console"

const everyMs = 10_000
const limits = { limit: 200 }

export default function QueueCard() {
  const dead = useAnswer("jobs.list", { state: "dead", ...limits }, { everyMs })
  const queued = useAnswer("jobs.list", { state: "queued", ...limits }, { everyMs })
  return (
    <>
      <div class="figures">
        <Answered of={queued}>{(answer) => <Figure label="queued" value={countOf(answer)} href="/console/jobs?state=queued" />}</Answered>
        <Answered of={dead}>
          {(answer) => (
            <Figure
              label="dead letters"
              value={countOf(answer)}
              href="/console/jobs?state=dead"
              tone={answer.jobs.length > 0 ? "bad" : "plain"}
            />
          )}
        </Answered>
      </div>
      {dead.answer && dead.answer.jobs.length > 0 && (
        <ul class="lines">
          {dead.answer.jobs.slice(0, 3).map(({ id, type, last_error }) => (
            <li key={id}>
              <a href={`/console/jobs/${encodeURIComponent(id)}`}>{type}</a> <UntrustedText text={(last_error ?? "").slice(0, 120)} />{" "}
              <OperationButton operation="jobs.retry" input={{ id }} onDone={dead.reload}>
                Retry
              </OperationButton>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Counts a page of jobs. A plus marks further pages. */
function countOf({ jobs, next_cursor }: Output<"jobs.list">): number | string {
  return next_cursor === "" ? jobs.length : `${jobs.length}+`
}
