// Ends an experiment with a decision for a variant or for no variant. The reason stays on the ledger.
import { useSignal } from "@preact/signals"
import { confirmed, inBackground, Problem, useSubmit } from "#console"
import type { Experiment } from "./report.tsx"

interface DecisionArgs {
  readonly experiment: Experiment
  /** Receives warnings if live evidence contradicts the choice. */
  readonly onDone: (warnings: readonly string[]) => void
}

export function Decision({ experiment: { slug, variants, revision }, onDone }: DecisionArgs) {
  const variant = useSignal("")
  const rationale = useSignal("")
  const givesAll = useSignal(false)
  const input = {
    slug,
    variant_key: variant.value || null,
    rationale: rationale.value,
    give_all_visitors: givesAll.value && variant.value !== "",
    expected_revision: revision,
  }
  const { submit, isBusy, error } = useSubmit("experiments.decide", input)
  const decide = async () => {
    const title = variant.value === "" ? "Decide for none of them?" : `Decide for ${variant.value}?`
    const text = "The experiment ends with it. This cannot be taken back."
    if (!(await confirmed({ title, text, verb: "Decide", isDangerous: true }))) return
    const answer = await submit(input)
    if (answer) onDone(answer.warnings)
  }
  return (
    <form
      aria-label="Decision"
      onSubmit={(event) => {
        event.preventDefault()
        inBackground(decide())
      }}
    >
      <h2>Decide</h2>
      <div class="field">
        <label for="variant">Variant</label>
        <select
          id="variant"
          value={variant.value}
          onChange={(event) => {
            variant.value = event.currentTarget.value
          }}
        >
          <option value="">none of them</option>
          {variants.map(({ key }) => (
            <option key={key} value={key}>
              {key}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for="rationale">Why, kept word for word</label>
        <textarea
          id="rationale"
          rows={3}
          required
          value={rationale.value}
          onInput={(event) => {
            rationale.value = event.currentTarget.value
          }}
        />
      </div>
      <p>
        <label>
          <input
            type="checkbox"
            checked={givesAll.value}
            onChange={(event) => {
              givesAll.value = event.currentTarget.checked
            }}
          />{" "}
          Give the chosen variant all visitors of the page
        </label>
      </p>
      <button type="submit" class="danger" aria-disabled={isBusy}>
        Decide
      </button>
      {error && <Problem text={error.message} />}
    </form>
  )
}
