// The effect of an apply: fields before and after, drift, problems and warnings.
import { Badge, Problem, UntrustedText } from "#console"

export interface Planned {
  readonly action: string
  readonly changes: readonly { readonly field: string; readonly before: unknown; readonly after: unknown }[]
  readonly drift: { readonly message: string } | null
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

const isLong = (value: unknown) => typeof value === "object" && value !== null
const shown = (value: unknown) =>
  isLong(value) ? JSON.stringify(value, null, 2) : typeof value === "string" ? value : JSON.stringify(value ?? null)

/** Marks lines missing in the other text, by signs and colours. */
function Lines({
  label,
  text,
  other,
  side,
}: {
  readonly label: string
  readonly text: string
  readonly other: string
  readonly side: "before" | "after"
}) {
  const known = new Map<string, number>()
  for (const line of other.split("\n")) known.set(line, (known.get(line) ?? 0) + 1)
  const Tag = side === "before" ? "del" : "ins"
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section class="changed" tabIndex={0} aria-label={label}>
      <pre dir="ltr">
        {text.split("\n").map((line, index) => {
          const left = known.get(line) ?? 0
          known.set(line, left - 1)
          return left > 0 ? <span key={index}>{line}</span> : <Tag key={index}>{line}</Tag>
        })}
      </pre>
    </section>
  )
}

export function PlanShown({ planned: { action, changes, drift, problems, warnings } }: { readonly planned: Planned }) {
  return (
    <section aria-label="Plan">
      <h2>Plan</h2>
      <p role="status">
        <Badge tone={action === "refused" ? "bad" : action === "unchanged" ? "plain" : "good"}>{action}</Badge>{" "}
        {changes.length > 0 &&
          `${changes.length} ${changes.length === 1 ? "field changes" : "fields change"}: ${changes.map(({ field }) => field).join(", ")}.`}
      </p>
      {problems.map((text) => (
        <Problem key={text} text={text} />
      ))}
      {warnings.map((text) => (
        <p key={text}>
          <Badge tone="warning">warning</Badge> <UntrustedText text={text} />
        </p>
      ))}
      {drift && (
        <p class="about">
          <UntrustedText text={drift.message} /> Saving here changes the server alone: the next apply from files tells of it.
        </p>
      )}
      {changes.map(({ field, before, after }) => (
        <section key={field} aria-label={`Change of ${field}`}>
          <h3>{field}</h3>
          <div class="split">
            <Lines label={`${field} before`} text={shown(before)} other={shown(after)} side="before" />
            <Lines label={`${field} after`} text={shown(after)} other={shown(before)} side="after" />
          </div>
        </section>
      ))}
    </section>
  )
}
