// `authenticated_viewer`: a viewer of a page, identified by a token from `POST /v1/viewer-sessions`. The token is in the
// Authorization header or the `mr_viewer` cookie. The audience `public_and_viewers` also accepts requests without a token, but
// refuses a bad token.
import { z } from "zod"
import { defineAuthMode, type Verdict } from "#core"
import { ViewerSessions } from "../../platform/organizations/index.ts"
import { guardCheck } from "../request/guarded.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

const cookieName = "mr_viewer"

interface Presented {
  readonly token: string
  readonly header: "authorization" | "cookie"
}

export const authenticatedViewer = defineAuthMode({
  mode: "authenticated_viewer",
  summary: "A signed-in viewer of the page; also the public, depending on `audience`.",
  description:
    "The token goes in `Authorization: Bearer` or the cookie `mr_viewer`. Its claims (page, visitor, variant) take precedence over the body's `_envelope`.",
  config: z.strictObject({
    audience: z
      .enum(["viewers", "public_and_viewers"])
      .default("viewers")
      .describe("`public_and_viewers` accepts a form without a token; a token that is sent must be valid."),
  }),
  examples: [
    { title: "Signed-in viewers alone", yaml: "source_kind: browser_form\nauth_mode: authenticated_viewer" },
    {
      title: "A public form that recognizes signed-in viewers",
      yaml: "source_kind: browser_form\nauth_mode: authenticated_viewer\nauth_config: { audience: public_and_viewers }",
    },
  ],
  secret: () => "none",
  inject: { sessions: ViewerSessions },
  prepare({ config, pipeline, deps }) {
    const verify = async (view: RequestView): Promise<Verdict> => {
      const presented = presentedToken(view)
      if (presented === undefined) {
        if (config.audience === "public_and_viewers") return { ok: true }
        throw new Refused("missing_token", `No viewer's token: expected "Authorization: Bearer" or the cookie ${cookieName}.`)
      }
      const session = await deps.sessions.verify(presented.token)
      if ("error" in session) throw badToken(session.error, presented.header)
      if (session.organization_id !== pipeline.organization_id)
        throw new Refused("wrong_audience", "The viewer's token belongs to another organization.")
      const page = pipeline.owner_artifact_id
      if (page !== null && session.artifact_id !== undefined && session.artifact_id !== page) {
        throw new Refused("wrong_artifact", `The viewer's token is for page ${session.artifact_id}; this pipeline belongs to page ${page}.`)
      }
      const { artifact_id, visitor_id, variant } = session
      return {
        ok: true,
        proof: { headers: [presented.header] },
        claims: {
          ...(artifact_id !== undefined && { artifact_id }),
          ...(visitor_id !== undefined && { visitor_id }),
          ...(variant !== undefined && { variant }),
        },
      }
    }
    return { verify: guardCheck(verify), coversBody: false, retries: false }
  },
  async sign({ pipeline, deps }) {
    const page = pipeline.owner_artifact_id
    const claims = { organization_id: pipeline.organization_id, ...(page !== null && { artifact_id: page }) }
    return { headers: { authorization: `Bearer ${(await deps.sessions.mint(claims, 3_600)).token}` } }
  },
})

function badToken(error: "expired" | "invalid", header: string): Refused {
  return error === "expired"
    ? new Refused("expired_token", `The viewer's token in ${header} has expired; create a new one with POST /v1/viewer-sessions.`)
    : new Refused("invalid_token", `The viewer's token in ${header} was not issued by this service, or was changed.`)
}

/** The Authorization header takes precedence over the cookie. Only the scheme Bearer carries a viewer's token. */
function presentedToken(view: RequestView): Presented | undefined {
  const bearer = /^bearer(?: +(.*))?$/i.exec(view.header("authorization") ?? "")
  if (bearer) return { token: bearer[1]?.trim() ?? "", header: "authorization" }
  const token = cookieValue(view)
  return token === undefined ? undefined : { token, header: "cookie" }
}

function cookieValue(view: RequestView): string | undefined {
  const lines = view.request.headers["cookie"] ?? []
  const values = (typeof lines === "string" ? [lines] : lines)
    .flatMap((line) => line.split(";"))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`))
    .map((pair) => pair.slice(cookieName.length + 1).replace(/^"(.*)"$/, "$1"))
    .filter((value) => value !== "")
  if (new Set(values).size > 1) throw new Refused("duplicate_header", `Cookie ${cookieName} has several different values.`)
  return values[0]
}
