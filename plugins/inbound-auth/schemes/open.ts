// Providers that sign nothing. The endpoint's unguessable address is the only protection, unless
// `auth_config.query_parameter` asks for the pipeline's secret in the URL as well.
import { Refused } from "../request/refusal.ts"
import type { SchemeContext } from "./context.ts"
import { type Matcher, noSecret } from "./signed-request.ts"
import { namedSecrets, secretEqualTo } from "./token.ts"

export function prepareOpen(context: SchemeContext): Matcher {
  const name = context.config.query_parameter
  if (name === undefined) return () => ({})
  const secrets = namedSecrets(context)
  return (view) => {
    if (secrets.length === 0) throw noSecret()
    const given = view.query(name)
    if (given === undefined || given === "")
      throw new Refused("missing_token", `Query parameter ${name} is absent from the URL; it must hold the secret.`)
    // A `+` that was not percent-encoded in the URL has become a space.
    const secretId = secretEqualTo(secrets, given) ?? secretEqualTo(secrets, given.replaceAll(" ", "+"))
    if (secretId === undefined) throw new Refused("wrong_secret", `Query parameter ${name} does not hold the secret of this pipeline.`)
    return { secretId, proof: { query: [name] } }
  }
}
