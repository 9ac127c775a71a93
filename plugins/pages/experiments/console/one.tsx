// Screen of one experiment: all evidence side by side, and its actions.
import { useSignal } from "@preact/signals"
import {
  Answered,
  Badge,
  Facts,
  hrefOf,
  mayCall,
  Nothing,
  OperationButton,
  OperationDetails,
  SameAs,
  type ScreenProps,
  Time,
  UntrustedText,
  useAnswer,
} from "#console"
import { summaryColumns } from "../report/columns.ts"
import { words } from "../report/sentences.ts"
import { Decision } from "./decision.tsx"
import { PanelSection, TournamentSection } from "./judged.tsx"
import { EvidenceTable, type Experiment, type Report, Said, statusTones } from "./report.tsx"
import { Visitors } from "./visitors.tsx"

const everyMs = 60_000

export default function ExperimentScreen({ params }: ScreenProps) {
  const { slug = "" } = params
  const read = useAnswer("experiments.report", { slug }, { everyMs })
  const warnings = useSignal<readonly string[]>([])
  return (
    <>
      <p>
        <a href={hrefOf(["experiments"])}>Experiments</a>
      </p>
      <Answered of={read}>
        {({ experiment, summary, live, panel, tournament, feedback }) => (
          <>
            <h1>
              <UntrustedText text={experiment.name} />
            </h1>
            <About experiment={experiment} />
            {warnings.value.map((text) => (
              <p key={text} class="problem">
                {text}
              </p>
            ))}
            <Actions experiment={experiment} onDone={read.reload} />
            <section aria-label="All evidence">
              <h2>All evidence</h2>
              <Summary rows={summary} />
            </section>
            <section aria-label="Visitors">
              <h2>Visitors</h2>
              <Visitors experiment={experiment} live={live} />
            </section>
            <section aria-label="Panel">
              <h2>Panel</h2>
              <PanelSection panel={panel} />
            </section>
            <section aria-label="Tournament">
              <h2>Tournament</h2>
              <TournamentSection tournament={tournament} />
            </section>
            <section aria-label="What people said">
              <h2>What people said</h2>
              {feedback.length === 0 && <Nothing>Nobody has said anything.</Nothing>}
              {feedback.map(({ observation_id, variant_key, judge_slug, feedback: text, image_bucket_key, at }) => (
                <Said key={observation_id} variant={variant_key} text={text}>
                  <UntrustedText text={judge_slug} />, <Time value={at} /> <UntrustedText text={image_bucket_key} />
                </Said>
              ))}
            </section>
            {experiment.status === "running" && mayCall("experiments.decide") && (
              <Decision
                experiment={experiment}
                onDone={(against) => {
                  warnings.value = against
                  read.reload()
                }}
              />
            )}
          </>
        )}
      </Answered>
      <SameAs name="experiments.report" input={{ slug }} />
    </>
  )
}

function About({ experiment }: { readonly experiment: Experiment }) {
  const { slug, status, hypothesis, goal, started_at, ended_at, decision } = experiment
  return (
    <>
      <p>
        <Badge tone={statusTones[status]}>{status}</Badge> <code>{slug}</code>
      </p>
      <UntrustedText text={hypothesis} isParagraph />
      <Facts
        of={[
          [
            "goal",
            Object.values(goal ?? {})
              .map((one) => (typeof one === "string" ? words(one) : JSON.stringify(one)))
              .join(", "),
          ],
          ["started", <Time key="started" value={started_at} />],
          ["ended", <Time key="ended" value={ended_at} />],
        ]}
      />
      {decision && (
        <section aria-label="Decision">
          <h2>{decision.variant_key === "" ? "Decided for none of them" : `Decided for ${decision.variant_key}`}</h2>
          <p class="about">
            <UntrustedText text={decision.decided_by} />, <Time value={decision.decided_at} />
          </p>
          <UntrustedText text={decision.reason} isParagraph />
        </section>
      )}
    </>
  )
}

interface ActionsArgs {
  readonly experiment: Experiment
  readonly onDone: () => void
}

function Actions({ experiment, onDone }: ActionsArgs) {
  const { slug, name, status } = experiment
  const input = { slug }
  const isOpen = status === "draft" || status === "running"
  return (
    <>
      <div class="verbs">
        {status === "draft" && (
          <OperationButton operation="experiments.start" input={input} onDone={onDone}>
            Start
          </OperationButton>
        )}
        {status !== "archived" && (
          <OperationButton operation="experiments.archive" input={input} ask={`Archive ${name}?`} isDangerous onDone={onDone}>
            Archive
          </OperationButton>
        )}
        <a href={`/v1/experiments/${encodeURIComponent(slug)}/report/export`} download>
          Report to keep and print
        </a>
      </div>
      {isOpen &&
        actions.map(([operation, title]) => (
          <OperationDetails
            key={operation}
            title={title}
            name={operation}
            known={input}
            present={operation === "experiments.update" ? { ...experiment } : undefined}
            onStale={onDone}
            onDone={onDone}
          />
        ))}
    </>
  )
}

const actions = [
  ["experiments.start_panel", "Ask a panel"],
  ["experiments.run_tournament", "Run a tournament"],
  ["experiments.update", "Change"],
] as const

function Summary({ rows }: { readonly rows: Report["summary"] }) {
  if (rows.length === 0) return <Nothing>The experiment has no variants yet; name its page, or the variants themselves.</Nothing>
  return <EvidenceTable label="What each kind of evidence says of each variant" rows={rows} columns={summaryColumns} />
}
