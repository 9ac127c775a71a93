// Buttons that copy an event as a command, test or report. The text is read at the click because a signature depends on the time.
import { useSignal } from "@preact/signals"
import { Copy, call, inBackground, mayCall, Problem } from "#console"
import { Stranger } from "./texts.tsx"

interface Made {
  readonly title: string
  readonly text: string
  readonly note: string
}

interface Answer {
  readonly curl?: string
  readonly yaml?: string
  readonly file_name?: string
  readonly report?: string
  readonly note?: string
}

const kinds = [
  ["events.get_curl", "Command"],
  ["events.get_test", "Test"],
  ["events.get_report", "Report"],
] as const

export function Copies({ id }: { readonly id: string }) {
  const made = useSignal<Made | undefined>(undefined)
  const problem = useSignal("")
  const offered = kinds.filter(([operation]) => mayCall(operation))
  if (offered.length === 0) return null
  const make = async (operation: string, title: string) => {
    try {
      const { curl, yaml, file_name, report, note = "" } = await call<Answer>(operation, { id })
      problem.value = ""
      made.value = { title: file_name ?? title, text: curl ?? yaml ?? report ?? "", note }
    } catch (error) {
      made.value = undefined
      problem.value = (error as Error).message
    }
  }
  return (
    <section aria-labelledby="copies">
      <h2 id="copies">Take it elsewhere</h2>
      <div class="verbs">
        {offered.map(([operation, title]) => (
          <button key={operation} type="button" onClick={() => inBackground(make(operation, title))}>
            {title}
          </button>
        ))}
      </div>
      {problem.value !== "" && <Problem text={problem.value} />}
      {made.value && (
        <>
          <h3>{made.value.title}</h3>
          {made.value.note !== "" && <p class="about">{made.value.note}</p>}
          <div class="verbs">
            <Copy key={made.value.text} text={made.value.text} name={made.value.title} />
          </div>
          <Stranger label={made.value.title} text={made.value.text} />
        </>
      )}
    </section>
  )
}
