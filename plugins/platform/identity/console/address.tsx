// Another address of the account: the new address gets a code, which confirms it.
import { useSignal } from "@preact/signals"
import { inBackground, OperationDetails, OperationForm, refreshSession } from "#console"

export function Address() {
  const isAsked = useSignal(false)
  const onConfirmed = () => {
    isAsked.value = false
    inBackground(refreshSession())
  }
  return isAsked.value ? (
    <section aria-label="New address">
      <p role="status">If no other account uses the new address, a mail with a code is on its way.</p>
      <OperationForm name="me.confirm_address" onDone={onConfirmed} />
      <button type="button" onClick={() => (isAsked.value = false)}>
        Use another address
      </button>
    </section>
  ) : (
    <OperationDetails title="Change your address" name="me.change_address" onDone={() => (isAsked.value = true)} />
  )
}
