// Card of running experiments with their current live evidence.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Answered, Badge, formatNumber, Nothing, type Output, UntrustedText, useAnswer } from "#console"
import { words } from "../report/sentences.ts"
import { verdictTones } from "./report.tsx"

type Experiment = Output<"experiments.list">["experiments"][number]

const maxShown = 5
/** Bound of queries: each experiment needs an analytics query. */
const maxAsked = 20

export default function ExperimentsCard() {
  const listed = useAnswer("experiments.list", { status: "running" }, { everyMs: 60_000 })
  const outcomes = useSignal<Readonly<Record<string, string>>>({})
  const isReady = ({ slug }: Experiment) => Number(canBeDecided(outcomes.value[slug]))
  return (
    <Answered of={listed}>
      {({ experiments }) =>
        experiments.length === 0 ? (
          <Nothing>No experiment runs.</Nothing>
        ) : (
          <ul class="lines">
            {experiments
              .slice(0, maxAsked)
              .sort((a, b) => isReady(b) - isReady(a))
              .map((experiment, index) => (
                <Running
                  key={experiment.slug}
                  experiment={experiment}
                  isShown={index < maxShown}
                  onOutcome={(outcome) => {
                    outcomes.value = { ...outcomes.value, [experiment.slug]: outcome }
                  }}
                />
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

const canBeDecided = (outcome: string | undefined) => outcome === "better" || outcome === "control"

interface RunningArgs {
  readonly experiment: Experiment
  /** Experiments ready for a decision come first, so each is loaded. */
  readonly isShown: boolean
  readonly onOutcome: (outcome: string) => void
}

function Running({ experiment: { slug, name }, isShown, onOutcome }: RunningArgs) {
  const { answer } = useAnswer("experiments.live", { slug }, { everyMs: 60_000 })
  const outcome = answer?.verdict.outcome
  useEffect(() => {
    if (outcome !== undefined) onOutcome(outcome)
  }, [outcome])
  if (!isShown) return null
  return (
    <li>
      <a href={`/console/experiments/${slug}`}>
        <UntrustedText text={name} />
      </a>{" "}
      {answer && (
        <>
          <Badge tone={verdictTones[answer.verdict.outcome] ?? "plain"}>
            {canBeDecided(answer.verdict.outcome) ? "can be decided" : words(answer.verdict.outcome)}
          </Badge>{" "}
          <small>{formatNumber(answer.visitors)} visitors</small>
        </>
      )}
    </li>
  )
}
