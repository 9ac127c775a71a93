// A call with an access token, made again once with a newer one where the API answers 401.
import type { OutgoingResponse } from "#core"
import type { Granted, OAuthAccess } from "./access.ts"

export async function callWithToken(
  access: OAuthAccess,
  granted: Granted,
  send: (accessToken: string) => Promise<OutgoingResponse>,
): Promise<OutgoingResponse> {
  const first = await access.token(granted)
  const answer = await send(first.token)
  if (answer.status !== 401) return answer
  const newer = await access.renewed(granted, first)
  return newer ? await send(newer.token) : answer
}
