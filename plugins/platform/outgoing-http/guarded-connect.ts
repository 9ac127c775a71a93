// Opens outgoing sockets. The check runs at connection time on the resolved addresses used by the socket. A name with different
// later answers therefore cannot bypass it.
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns"
import { isIP, type LookupFunction, type Socket } from "node:net"
import type { buildConnector } from "undici"
import { AppError, token } from "#core"
import type { CoreConfig } from "#core/engine"
import { type HostRule, isAllowed, parseHostRule, refusedRange } from "./address-policy.ts"
import { explain } from "./failures.ts"

/** Resolves a name to all of its addresses. Tests may replace the system's resolver. */
export type Resolve = (
  hostname: string,
  options: LookupOptions,
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

const systemResolve: Resolve = (hostname, options, callback) =>
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => callback(error, addresses))

/** Resolved addresses are for the operator only: the cause contains them for the log, the response does not. */
export function refusal(host: string, port: string, address: string, range: string): AppError {
  const note = host === address ? ` (${range})` : ""
  return new AppError(
    "failed_precondition",
    `The connection to ${host}:${port} is refused: outgoing calls reach public addresses only${note}. An operator can add the host to outgoing.allow_hosts.`,
    { reason: "address_refused", host, ...(host === address ? { range } : {}), retryable: false },
    { cause: new Error(`${host} resolves to ${address} (${range}).`) },
  )
}

export function guardedConnect(rules: readonly HostRule[], timeoutMs: number, resolve: Resolve = systemResolve): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, "")
    const port = options.port || (options.protocol === "https:" ? "443" : "80")
    const open = isAllowed(rules, host, port)
    const range = isIP(host) === 0 || open ? undefined : refusedRange(host)
    if (range) return callback(refusal(host, port, host, range), null)
    const lookup = checkedLookup(host, port, open, resolve)
    const finish: buildConnector.Callback = (...[error, socket]) => {
      if (error) return callback(error, null)
      // An additional check of the actual peer, independent of the runtime's choice of address.
      const peer = socket.remoteAddress
      const peerRange = open || peer === undefined ? undefined : refusedRange(peer)
      if (peer === undefined || peerRange) {
        socket.destroy()
        return callback(refusal(host, port, peer ?? "unknown", peerRange ?? "no peer address"), null)
      }
      callback(null, socket)
    }
    import("undici").then(
      (undici) => undici.buildConnector({ timeout: timeoutMs, allowH2: false, lookup } as buildConnector.BuildOptions)(options, finish),
      (error: Error) => callback(error, null),
    )
  }
}

function checkedLookup(host: string, port: string, open: boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, options, (error, addresses) => {
      if (error) return callback(error, "", 0)
      const first = addresses[0]
      if (!first) return callback(Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" }), "", 0)
      // A single refused address refuses the name: a public name with an internal address is not trustworthy.
      for (const { address } of addresses) {
        const range = open ? undefined : refusedRange(address)
        if (range) return callback(refusal(host, port, address, range), "", 0)
      }
      if (options.all) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}

export interface OutgoingSockets {
  /**
   * Returns a connected TCP socket. Throws AppError like `OutgoingHttp.fetch`: `failed_precondition` (reason `address_refused`)
   * for a refused address.
   */
  open(host: string, port: number, signal: AbortSignal): Promise<Socket>
}

/**
 * Plain outgoing connections for several calls at a time (the proxy of a browser). The policy of calls applies, checked at
 * connection time.
 */
export const OutgoingSockets = token<OutgoingSockets>("OutgoingSockets")

export function createOutgoingSockets(settings: CoreConfig["outgoing"], resolve?: Resolve): OutgoingSockets {
  const connect = guardedConnect(settings.allow_hosts.map(parseHostRule), settings.timeout_ms, resolve)
  return {
    open: (host, port, signal) =>
      new Promise((onOpen, fail) => {
        const origin = `${host}:${port}`
        // The port is always explicit. Otherwise the connector would use the default of the scheme.
        connect({ hostname: host, host: origin, protocol: "http:", port: String(port) }, (error, socket) => {
          if (error) return fail(explain(error, origin, signal))
          if (!signal.aborted) return onOpen(socket)
          socket.destroy()
          fail(new AppError("canceled", `The connection to ${origin} was canceled.`, { reason: "canceled" }))
        })
      }),
  }
}
