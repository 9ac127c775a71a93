// Status of the sending domains. Failed domains show their problem.
import { Answered, Badge, Nothing, type Tone, UntrustedText, useAnswer } from "#console"

const maxShown = 5

export default function DomainsCard() {
  const listed = useAnswer("sending_domains.list", { limit: 200 }, { everyMs: 30_000 })
  return (
    <Answered of={listed}>
      {({ sending_domains }) =>
        sending_domains.length === 0 ? (
          <Nothing>Mail leaves from the default sender.</Nothing>
        ) : (
          <ul class="lines">
            {[...sending_domains]
              .sort((a, b) => Number(a.status === "active") - Number(b.status === "active"))
              .slice(0, maxShown)
              .map(({ domain, status, error_reason }) => (
                <li key={domain}>
                  <a href={`/console/sending_domains/${domain}`}>{domain}</a> <Status status={status} />{" "}
                  <small>
                    <UntrustedText text={error_reason ?? ""} />
                  </small>
                </li>
              ))}
            {sending_domains.length > maxShown && (
              <li>
                <a href="/console/sending_domains">{sending_domains.length} in all</a>
              </li>
            )}
          </ul>
        )
      }
    </Answered>
  )
}

const tones: Readonly<Record<string, Tone>> = { active: "good", failed: "bad", pending: "warning" }

/** Status badge of a sending domain. */
export function Status({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "plain"}>{status}</Badge>
}
