// The number of pending approvals, with the earliest expiries.
import { Ago, Answered, Badge, Nothing, type Output, type Tone, UntrustedText, useAnswer } from "#console"

export default function ApprovalsCard() {
  const list = useAnswer("approvals.list", { state: "pending", limit: 200 }, { everyMs: 10_000 })
  return (
    <Answered of={list}>
      {({ approvals }) =>
        approvals.length === 0 ? (
          <Nothing>Nothing waits for a decision.</Nothing>
        ) : (
          <ul class="lines">
            {[...approvals]
              .sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1))
              .slice(0, 4)
              .map(({ id, what, expires_at }) => (
                <li key={id}>
                  <a href={`/console/approvals/${id}`}>
                    <UntrustedText text={what.slice(0, 120)} />
                  </a>{" "}
                  <small>
                    expires <Ago value={expires_at} />
                  </small>
                </li>
              ))}
            {approvals.length > 4 && (
              <li>
                <a href="/console/approvals?state=pending">{approvals.length} wait</a>
              </li>
            )}
          </ul>
        )
      }
    </Answered>
  )
}

export type Approval = Output<"approvals.get">

const tones: Readonly<Record<string, Tone>> = { pending: "warning", done: "good", failed: "bad", rejected: "bad" }

/** The state badge of an approval. */
export function State({ state }: { readonly state: string }) {
  return <Badge tone={tones[state] ?? "plain"}>{state}</Badge>
}
