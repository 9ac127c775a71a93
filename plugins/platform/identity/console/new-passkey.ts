// Adds a passkey of this device to the account.
import { useSignal } from "@preact/signals"
import { createPasskey, useSubmit } from "#console"

interface NewPasskey {
  /** Returns true if the passkey was added. */
  readonly create: (name: string) => Promise<boolean>
  readonly problem: string | undefined
}

export function useNewPasskey(): NewPasskey {
  const problem = useSignal("")
  const offer = useSubmit<{ readonly options: Parameters<typeof createPasskey>[0] }>("passkeys.offer")
  const add = useSubmit("passkeys.add")
  const create = async (name: string) => {
    problem.value = ""
    const offered = await offer.submit({})
    if (!offered) return false
    try {
      const answer = await createPasskey(offered.options)
      return (await add.submit({ name, answer })) !== undefined
    } catch (error) {
      problem.value =
        (error as Error).name === "InvalidStateError"
          ? "This device has a passkey of your account already."
          : "The browser created no passkey. Try again."
      return false
    }
  }
  return { create, problem: problem.value || offer.error?.message || add.error?.message }
}
