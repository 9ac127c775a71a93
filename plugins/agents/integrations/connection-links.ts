// The page of a connection, for a user without a return_url after an authorization.
import { defineExtensionPoint } from "#core"

/** Returns the absolute address of a connection's page. */
export type ConnectionLink = (integrationId: string) => string

/** The last item counts. Without an item, connections have no page. */
export const ConnectionLinks = defineExtensionPoint<ConnectionLink>({ id: "integrations.connection-links" })
