// Another address of the account: the new address gets a code, which confirms it.
import { useSignal } from "@preact/signals"
import { inBackground, OperationDetails, OperationForm, refreshSession } from "#console"

export function Address() {
  const isAsked = useSignal(false)
  const confirmed = () => {
    isAsked.value = false
    inBackground(refreshSession())
  }
  return isAsked.value ? (
    <OperationForm name="me.confirm_address" onDone={confirmed} />
  ) : (
    <OperationDetails title="Change your address" name="me.change_address" onDone={() => (isAsked.value = true)} />
  )
}
