// Overview card of incoming events: live events per minute by status, latencies and pipelines.
import { Answered, Figure, formatDuration, formatNumber, hrefOf, Nothing, Rates, useAnswer } from "#console"

const everyMs = 5_000
const names = ["accepted", "rejected", "failed"] as const

export default function ActivityCard() {
  const read = useAnswer("event_pipelines.activity", { minutes: 60 }, { everyMs })
  return (
    <Answered of={read}>
      {({ minutes, latency, pipelines, ...counts }) => (
        <>
          <div class="figures">
            {names.map((name) => (
              <Figure
                key={name}
                label={`${name} in the last hour`}
                value={counts[name]}
                href={hrefOf(["events"], { status: name })}
                tone={name !== "accepted" && counts[name] > 0 ? (name === "failed" ? "bad" : "warning") : "plain"}
              />
            ))}
            <Figure label="half answered within" value={timeOf(latency.p50_ms)} href={hrefOf(["events"])} />
            <Figure label="99% answered within" value={timeOf(latency.p99_ms)} href={hrefOf(["events"])} />
          </div>
          <Rates
            label="Events a minute"
            names={[...names]}
            data={[minutes.map(({ at }) => Date.parse(at) / 1_000), ...names.map((name) => minutes.map((one) => one[name]))]}
          />
          {pipelines.length === 0 ? (
            <Nothing>No event came in the last hour.</Nothing>
          ) : (
            <ul class="lines">
              {pipelines.slice(0, 5).map(({ slug, accepted, rejected, failed }) => (
                <li key={slug}>
                  <a href={hrefOf(["event_pipelines", slug])}>{slug}</a> <small>{formatNumber(accepted + rejected + failed)}</small>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Answered>
  )
}

function timeOf(ms: number | null): string {
  return ms === null ? "no event" : formatDuration(ms)
}
