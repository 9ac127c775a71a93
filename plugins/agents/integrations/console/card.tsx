// Number of connections, and problems of the failing ones.
import { Answered, Badge, Figure, Nothing, UntrustedText, useAnswer } from "#console"

export default function ConnectionsCard() {
  const listed = useAnswer("integrations.list", { limit: 200 }, { everyMs: 30_000 })
  return (
    <Answered of={listed}>
      {({ integrations }) => {
        if (integrations.length === 0) return <Nothing>Nothing is connected.</Nothing>
        const inTrouble = integrations.filter(({ status, health }) => status !== "connected" || health.status === "failing")
        return (
          <>
            <div class="figures">
              <Figure label="connected" value={integrations.length - inTrouble.length} href="/console/integrations" tone="good" />
              <Figure
                label="in trouble"
                value={inTrouble.length}
                href="/console/integrations"
                tone={inTrouble.length > 0 ? "bad" : "plain"}
              />
            </div>
            <ul class="lines">
              {inTrouble.slice(0, 4).map(({ id, name, app, status, health }) => (
                <li key={id}>
                  <a href={`/console/integrations/${id}`}>
                    <UntrustedText text={name || app} />
                  </a>{" "}
                  <Badge tone="bad">{status === "connected" ? health.status : status.replaceAll("_", " ")}</Badge>{" "}
                  <small>
                    <UntrustedText text={health.message.slice(0, 120)} />
                  </small>
                </li>
              ))}
            </ul>
          </>
        )
      }}
    </Answered>
  )
}
