// Where a user lands after an authorization without a return_url: the page of the connection, if a plugin shows connections.
import { token } from "#core"

/** Returns the absolute address of a connection's page. */
export type ConnectionLink = (integrationId: string) => string

export interface ConnectionLinks {
  /** Sets the link. Call it while services are created; the last call counts. */
  use(link: ConnectionLink): void
  /** Returns undefined if no plugin shows connections. */
  of(integrationId: string): string | undefined
}

export const ConnectionLinks = token<ConnectionLinks>("ConnectionLinks")

export function createConnectionLinks(): ConnectionLinks {
  let link: ConnectionLink | undefined
  return {
    use: (own) => {
      link = own
    },
    of: (id) => link?.(id),
  }
}
