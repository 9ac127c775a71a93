// Why a server cannot listen, with what to do about it.

export function listenError({ host, port }: { readonly host: string; readonly port: number }, cause: NodeJS.ErrnoException): Error {
  const remedy: Record<string, string> = {
    EADDRINUSE: "something else listens there already; stop it, or set PORT to another port",
    EACCES: "this user may not listen there; take a port above 1023, or grant the right",
    EADDRNOTAVAIL: "this machine has no such address; set HOST to one it has, or to 0.0.0.0",
    ENOTFOUND: "this host name does not resolve; set HOST to an address of this machine",
  }
  const why = remedy[cause.code ?? ""] ?? cause.message
  return new Error(`Cannot listen on ${host}:${port} (${cause.code ?? "unknown"}): ${why}.`, { cause })
}
