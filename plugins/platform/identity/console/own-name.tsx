// The name of the account: other members see it.
import { useSignal } from "@preact/signals"
import { inBackground, mayCall, Problem, refreshSession, useSubmit } from "#console"

export function OwnName({ name }: { readonly name: string }) {
  const newName = useSignal(name)
  const { submit, isBusy, answer, error } = useSubmit("me.update", { name: newName.value })
  if (!mayCall("me.update")) return null
  const save = async () => {
    if (await submit({ name: newName.value })) await refreshSession()
  }
  return (
    <>
      <form
        aria-label="Your name"
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          inBackground(save())
        }}
      >
        <div>
          <label for="own-name">Name</label>
          <input
            id="own-name"
            autocomplete="name"
            value={newName.value}
            onInput={(event) => {
              newName.value = event.currentTarget.value
            }}
          />
        </div>
        <button type="submit" aria-disabled={isBusy || newName.value === name}>
          Save name
        </button>
      </form>
      {answer && newName.value === name && <p role="status">Saved.</p>}
      {error && <Problem text={error.message} />}
    </>
  )
}
