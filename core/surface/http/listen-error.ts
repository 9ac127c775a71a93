// Why a server cannot listen, with what to do about it.

export function listenError({ host, port }: { readonly host: string; readonly port: number }, cause: NodeJS.ErrnoException): Error {
  const remedy: Record<string, string> = {
    EADDRINUSE: "the port is in use; stop the other program, or set PORT to another port",
    EACCES: "permission denied; use a port above 1023, or grant the right",
    EADDRNOTAVAIL: "this machine has no such address; set HOST to one of its addresses, or to 0.0.0.0",
    ENOTFOUND: "this host name does not resolve; set HOST to an address of this machine",
  }
  const why = remedy[cause.code ?? ""] ?? cause.message
  return new Error(`Cannot listen on ${host}:${port} (${cause.code ?? "unknown"}): ${why}.`, { cause })
}
