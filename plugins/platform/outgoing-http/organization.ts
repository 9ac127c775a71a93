// The client as one organization uses it.
import type { OutgoingHttp } from "#core"

/** Returns a client whose calls belong to the organization, unless a call names another. */
export function asOrganization(http: OutgoingHttp, organization: string): OutgoingHttp {
  return {
    fetch: (request) => http.fetch({ organization, ...request }),
    send: (request) => http.send({ organization, ...request }),
    check: (url) => http.check(url),
  }
}
