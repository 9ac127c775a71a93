// Pictures of a page's variants, at any width. A page may contain foreign scripts, so it runs in a separate browser and never in
// the console. The console shows an image.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Answered, FilterBar, inBackground, mayCall, Nothing, Problem, query, SameAs, useAnswer, useSubmit } from "#console"
import type { Page } from "./page.tsx"

/** Phone, tablet and desktop widths in pixels. */
const widths = ["360", "768", "1280"]
const everyMs = 700

/** Screenshot jobs since the browser loaded the console, by revision, variant and width. */
const taken = new Map<string, string>()

export function Preview({ page }: { readonly page: Page }) {
  const { width = "1280" } = query()
  const { variants } = page
  if (variants.length === 0) return <Nothing>The page has no variant yet.</Nothing>
  return (
    <>
      <FilterBar filters={[{ name: "width", label: "width in pixels", choices: widths, otherwise: "1280" }]} />
      {!mayCall("screenshots.start") && <Nothing>Your role does not take pictures of pages.</Nothing>}
      {mayCall("screenshots.start") && (
        <div class="split">
          {variants.map(({ key }) => (
            <Variant key={`${key} ${width}`} page={page} variant={key} width={Number(width) || 1_280} />
          ))}
        </div>
      )}
      <SameAs name="screenshots.start" input={startOf(page, variants[0]?.key ?? "", Number(width))} />
    </>
  )
}

const startOf = ({ slug }: Page, variant: string, width: number) => ({
  page: slug,
  variant,
  viewport: { width, height: Math.round(width < 500 ? width * 2 : width * 0.75) },
  full_page: true,
})

interface VariantArgs {
  readonly page: Page
  readonly variant: string
  readonly width: number
}

function Variant({ page, variant, width }: VariantArgs) {
  const known = `${page.id} ${page.revision} ${variant} ${width}`
  const job = useSignal(taken.get(known) ?? "")
  const { submit, isBusy, error } = useSubmit("screenshots.start")
  const take = async () => {
    const started = await submit(startOf(page, variant, width))
    if (!started) return
    taken.set(known, started.job_id)
    job.value = started.job_id
  }
  return (
    <section aria-label={`Variant ${variant}`}>
      <h2>{variant}</h2>
      <div class="verbs">
        <button type="button" aria-disabled={isBusy} onClick={() => inBackground(take())}>
          {job.value === "" ? "Take a picture" : "Take it again"}
        </button>
      </div>
      {error && <Problem text={error.message} />}
      {job.value !== "" && <Picture key={job.value} job={job.value} name={`${page.title}, variant ${variant}, ${width} pixels wide`} />}
    </section>
  )
}

function Picture({ job, name }: { readonly job: string; readonly name: string }) {
  const isOver = useSignal(false)
  const result = useAnswer("screenshots.result", { job_id: job }, isOver.value ? {} : { everyMs })
  const { status } = result.answer ?? {}
  useEffect(() => {
    isOver.value = status !== undefined && status !== "processing"
  }, [status])
  return (
    <Answered of={result}>
      {({ error, width, height, warnings }) => (
        <>
          {status === "processing" && <p role="status">The page is being looked at.</p>}
          {status === "failed" && <Problem text={error} />}
          {status === "expired" && <Nothing>This picture is no longer kept.</Nothing>}
          {status === "done" && (
            <img class="picture" src={`/v1/screenshot/images/${encodeURIComponent(job)}`} alt={name} width={width} height={height} />
          )}
          {warnings.map((text) => (
            <p key={text} class="warning">
              {text}
            </p>
          ))}
        </>
      )}
    </Answered>
  )
}
