// Calls with an access token. If the API answers 401, calls once more with a newer token.
import type { OutgoingResponse } from "#core"
import type { AccessToken, OAuthAccess } from "./access.ts"
import type { Granted } from "./kept-tokens.ts"

export async function callWithToken(
  access: OAuthAccess,
  granted: Granted,
  send: (token: AccessToken) => Promise<OutgoingResponse>,
  comesAgain = false,
): Promise<OutgoingResponse> {
  const first = await access.token(granted, comesAgain)
  const answer = await send(first)
  if (answer.status !== 401) return answer
  const newer = await access.renewed(granted, first, comesAgain)
  return newer ? await send(newer) : answer
}
