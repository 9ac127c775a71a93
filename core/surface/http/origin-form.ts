// Request targets as a server reads them. One may also come whole, as proxies are sent it (RFC 9112 section 3.2.2); whom
// it names is of no matter here, and need not even be a valid name.

const schemeAndAuthority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/** Path and query; `*` stays. */
export function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target
  const rest = target.replace(schemeAndAuthority, "")
  return rest.startsWith("/") ? rest : `/${rest}`
}
