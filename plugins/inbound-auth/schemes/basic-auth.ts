// HTTP Basic credentials (RFC 7617), usually put into the webhook's URL; the secret is `user:password`.
import { decodeStrictly } from "../checks/encoding.ts"
import { Refused } from "../request/refusal.ts"
import type { SchemeContext } from "./context.ts"
import { type Matcher, noSecret } from "./signed-request.ts"
import { namedSecrets, secretEqualTo } from "./token.ts"

export function prepareBasicAuth(context: SchemeContext): Matcher {
  const secrets = namedSecrets(context)
  return (view) => {
    if (secrets.length === 0) throw noSecret()
    const header = view.header("authorization")
    if (header === undefined || header === "") {
      throw new Refused("missing_header", "Header authorization is absent: put user and password into the webhook's URL at the provider.")
    }
    const credentials = /^basic +([^ ]+)$/i.exec(header)?.[1]
    const given = credentials === undefined ? undefined : decodeStrictly(credentials, "base64")
    if (given === undefined) throw new Refused("malformed_signature", 'Header authorization is not "Basic " and base64 of user:password.')
    const secretId = secretEqualTo(secrets, given.toString("utf8"))
    if (secretId === undefined) throw new Refused("wrong_secret", "User or password do not match this pipeline's.")
    return { secretId, proof: { headers: ["authorization"] } }
  }
}
