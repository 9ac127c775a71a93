// Bare connections out, for what speaks more than one call at a time (the proxy in front of a browser), under the same
// policy as every call: the check stands where the connection is made.
import type { Socket } from "node:net"
import { AppError, token } from "#core"
import type { CoreConfig } from "#core/engine"
import { parseHostRule } from "./address-policy.ts"
import { explain } from "./failures.ts"
import { guardedConnect, type Resolve } from "./guarded-connect.ts"

export interface OutgoingSockets {
  /** A connected TCP socket. Throws AppError as `OutgoingHttp.fetch` does: `failed_precondition` (reason `address_refused`) for what is out of bounds. */
  open(host: string, port: number, signal: AbortSignal): Promise<Socket>
}

export const OutgoingSockets = token<OutgoingSockets>("OutgoingSockets")

export function createOutgoingSockets(settings: CoreConfig["outgoing"], resolve?: Resolve): OutgoingSockets {
  const connect = guardedConnect(settings.allow_hosts.map(parseHostRule), settings.timeout_ms, resolve)
  return {
    open: (host, port, signal) =>
      new Promise((onOpen, fail) => {
        const origin = `${host}:${port}`
        // The port is always named: without one the connector would take the scheme's own.
        connect({ hostname: host, host: origin, protocol: "http:", port: String(port) }, (error, socket) => {
          if (error) return fail(explain(error, origin, signal))
          if (!signal.aborted) return onOpen(socket)
          socket.destroy()
          fail(new AppError("canceled", `The connection to ${origin} was canceled.`, { reason: "canceled" }))
        })
      }),
  }
}
