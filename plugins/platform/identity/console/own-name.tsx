// The name of the account: other members see it.
import { useSignal } from "@preact/signals"
import { inBackground, mayCall, Problem, refreshSession, useSubmit } from "#console"

export function OwnName({ name }: { readonly name: string }) {
  const wanted = useSignal(name)
  const { submit, isBusy, answer, error } = useSubmit("me.update", { name: wanted.value })
  if (!mayCall("me.update")) return null
  const save = async () => {
    if (await submit({ name: wanted.value })) await refreshSession()
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
            value={wanted.value}
            onInput={(event) => {
              wanted.value = event.currentTarget.value
            }}
          />
        </div>
        <button type="submit" aria-disabled={isBusy || wanted.value === name}>
          Save name
        </button>
      </form>
      {answer && wanted.value === name && <p role="status">Saved.</p>}
      {error && <Problem text={error.message} />}
    </>
  )
}
