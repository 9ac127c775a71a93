// Libraries that send mail and calls. The import of a large library holds the main thread for 50 to 150 ms, so a service
// imports its libraries before it listens. Commands and services with a capture skip the import.
import type { Service } from "../kernel/di.ts"
import { Outgoing } from "./outgoing.ts"

/** For `registrar.run`. Later imports of the same libraries resolve at once. */
export function importedAtStart(load: () => Promise<unknown>): Service<Outgoing, { outgoing: typeof Outgoing }> {
  return {
    inject: { outgoing: Outgoing },
    create: ({ outgoing }) => outgoing,
    async start({ capture }) {
      if (!capture) await load()
    },
  }
}
