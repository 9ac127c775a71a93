// Editor of a pipeline's document, with findings, the planned changes and a save button.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { call, Editor, inBackground, mayCall, Problem, readDocument, useSubmit } from "#console"
import { drafts, setDraft } from "./drafts.ts"
import type { ViewProps } from "./pipeline.tsx"
import { type Planned, PlanShown } from "./plan.tsx"
import { changesTo, textOf, useHelp } from "./text.ts"

export default function EditDocument({ pipeline, reload }: ViewProps) {
  const { slug, revision } = pipeline
  const help = useHelp()
  const stored = useSignal<string | undefined>(undefined)
  const planned = useSignal<{ readonly text: string; readonly plan: Planned; readonly document: Record<string, unknown> } | undefined>(
    undefined,
  )
  const problem = useSignal("")
  const saved = useSignal(0)
  const { schema } = help
  const text = drafts.value[slug] ?? stored.value
  const ready = planned.value?.text === text ? planned.value : undefined
  const renamed = ready && ready.document["slug"] !== undefined && ready.document["slug"] !== slug
  const isOffered = ready && schema && !renamed && ready.plan.action === "change" && mayCall("event_pipelines.update")
  const update = isOffered ? { slug, expected_revision: revision, ...changesTo(pipeline, ready.document, schema) } : undefined
  const { submit, isBusy, error } = useSubmit("event_pipelines.update", update)
  useEffect(() => {
    if (schema) inBackground(textOf(pipeline, schema).then((text) => (stored.value = text)))
  }, [schema, revision])
  useEffect(() => {
    if (error?.code !== "aborted") return
    // The pipeline was changed concurrently. Plan again with the current version.
    planned.value = undefined
    reload()
  }, [error])
  if (stored.value === undefined || text === undefined || schema === undefined) return <p role="status">Loading</p>
  const isChanged = text !== stored.value

  const plan = async () => {
    problem.value = ""
    planned.value = undefined
    const read = await readDocument(text)
    if (typeof read.value !== "object" || read.value === null) {
      const [first] = read.findings
      problem.value = first ? `Line ${first.line}: ${first.message}` : "A document is an object with fields."
      return
    }
    const document = read.value as Record<string, unknown>
    try {
      const answer = await call<{ changes: readonly Planned[] }>("event_pipelines.plan", {
        documents: [{ path: `pipelines/${slug}.yaml`, document }],
      })
      const [first] = answer.changes
      if (first) planned.value = { text, plan: first, document }
    } catch (cause) {
      problem.value = (cause as Error).message
    }
  }
  const save = async () => {
    const done = update && (await submit(update))
    if (!done) return
    saved.value = done.revision
    planned.value = undefined
    setDraft(slug, undefined)
    reload()
  }

  return (
    <section aria-label="Document">
      <Editor
        label="Document"
        language="yaml"
        text={text}
        lint={help.lint}
        complete={help.complete}
        isReadOnly={!mayCall("event_pipelines.update")}
        onChange={(next) => setDraft(slug, next === stored.value ? undefined : next)}
        onRun={() => inBackground(plan())}
      />
      <div class="verbs">
        <button type="button" onClick={() => inBackground(plan())}>
          Plan
        </button>
        <kbd>Ctrl Enter</kbd>
        {isChanged && (
          <button type="button" onClick={() => setDraft(slug, undefined)}>
            Discard changes
          </button>
        )}
      </div>
      {problem.value !== "" && <Problem text={problem.value} />}
      {saved.value > 0 && !isChanged && <p role="status">Saved as revision {saved.value}.</p>}
      {ready && <PlanShown planned={ready.plan} />}
      {renamed && <Problem text={`A pipeline keeps its slug, "${slug}"; another slug is another pipeline.`} />}
      {update && (
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => inBackground(save())}>
          Apply as revision {revision + 1}
        </button>
      )}
      {error && <Problem text={error.message} />}
    </section>
  )
}
