// Live messages in place of subscribers: each that was committed and new, however soon the store forgets it.
import type { LiveMessageDocument } from "../surface/live/messages.ts"

export class CapturedBroadcasts {
  readonly #heard: { readonly organization: string; readonly message: LiveMessageDocument }[] = []

  readonly hear = (organization: string, message: LiveMessageDocument): void => {
    this.#heard.push({ organization, message })
  }

  /** Of one organization, with the copies for anonymous viewers, in the order of their ids. */
  of(organization: string): LiveMessageDocument[] {
    return this.#heard
      .filter((one) => one.organization === organization)
      .map(({ message }) => message)
      .sort((one, other) => (one.id < other.id ? -1 : 1))
  }
}
