// Calls that need a fresh sign-in wait here for the dialog. Calls at the same time share one dialog.
import { type Signal, signal } from "@preact/signals"

export interface SignInRequest {
  readonly finish: (isDone: boolean) => void
}

/** What the dialog is open for. */
export const signInRequest: Signal<SignInRequest | undefined> = signal(undefined)
let pending: Promise<boolean> | undefined

/** Asks the person to sign in again. Resolves with false if the person cancels. */
export function signedInAgain(): Promise<boolean> {
  pending ??= new Promise<boolean>((finish) => {
    signInRequest.value = { finish }
  }).finally(() => {
    signInRequest.value = undefined
    pending = undefined
  })
  return pending
}
