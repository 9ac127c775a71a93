// Each experiment that runs with what its visitors say so far.
import { Answered, Badge, Foreign, formatNumber, Nothing, type Tone, useAnswer } from "#console"

interface Experiment {
  readonly slug: string
  readonly name: string
  readonly status: string
}

interface Live {
  readonly visitors: number
  readonly verdict: { readonly outcome: string; readonly leader_key: string; readonly message: string }
}

const maxShown = 5
const tones: Readonly<Record<string, Tone>> = { better: "good", control: "good", sample_ratio_mismatch: "bad" }

export default function ExperimentsCard() {
  const listed = useAnswer<{ experiments: readonly Experiment[] }>("experiments.list", { status: "running" }, { everyMs: 60_000 })
  return (
    <Answered of={listed}>
      {({ experiments }) =>
        experiments.length === 0 ? (
          <Nothing>No experiment runs.</Nothing>
        ) : (
          <ul class="lines">
            {experiments.slice(0, maxShown).map((experiment) => (
              <Running key={experiment.slug} experiment={experiment} />
            ))}
            {experiments.length > maxShown && (
              <li>
                <a href="/console/experiments?status=running">{experiments.length} run</a>
              </li>
            )}
          </ul>
        )
      }
    </Answered>
  )
}

function Running({ experiment: { slug, name } }: { readonly experiment: Experiment }) {
  const { answer } = useAnswer<Live>("experiments.live", { slug }, { everyMs: 60_000 })
  const canBeDecided = answer?.verdict.outcome === "better" || answer?.verdict.outcome === "control"
  return (
    <li>
      <a href={`/console/experiments/${slug}`}>
        <Foreign text={name} />
      </a>{" "}
      {answer && (
        <>
          <Badge tone={tones[answer.verdict.outcome] ?? "plain"}>
            {canBeDecided ? "can be decided" : answer.verdict.outcome.replaceAll("_", " ")}
          </Badge>{" "}
          <small>{formatNumber(answer.visitors)} visitors</small>
        </>
      )}
    </li>
  )
}
