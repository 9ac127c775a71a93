// A person's opt-out link for a channel. The link encodes organization, channel, address and message. It is short enough for a
// text message.
import { type Deps, isUuid, PublicUrl } from "#core"
import { MailKeys, openLink, sealLink } from "../../suppressions/index.ts"
import { type Channel, channels } from "../channels.ts"

export interface OptOutLink {
  readonly organization: string
  readonly channel: Channel
  /** E.164, or the name shown by a carrier. */
  readonly address: string
  /** Null if the link is not in a message of this channel. */
  readonly messageId: string | null
}

export const optOutPath = "/v1/opt-out/{token}"

const purpose = "opt out"
const noMessage = "00000000-0000-0000-0000-000000000000"
/** Placeholder of the link in a text. */
const variable = /\{\{\s*opt_out_url\s*\}\}/g

export class OptOutLinks {
  static readonly inject = { keys: MailKeys, publicUrl: PublicUrl }
  readonly #services: Deps<typeof OptOutLinks.inject>

  constructor(services: Deps<typeof OptOutLinks.inject>) {
    this.#services = services
  }

  /** Returns the URL of a link. Equal input has the same URL. */
  async url({ organization, channel, address, messageId }: OptOutLink): Promise<string> {
    const ids = Buffer.from(`${organization}${messageId ?? noMessage}`.replaceAll("-", ""), "hex")
    const plain = Buffer.concat([ids, Buffer.from([channels.indexOf(channel)]), Buffer.from(address)])
    return this.#services.publicUrl() + optOutPath.replace("{token}", await sealLink(this.#services.keys, purpose, plain))
  }

  /** Returns undefined unless this service created the token. */
  async read(text: string): Promise<OptOutLink | undefined> {
    const plain = await openLink(this.#services.keys, purpose, text)
    const channel = channels[plain?.[32] ?? -1]
    if (!plain || !channel) return undefined
    const [organization, message] = [uuidOf(plain.subarray(0, 16)), uuidOf(plain.subarray(16, 32))]
    return { organization, channel, address: plain.subarray(33).toString("utf8"), messageId: message === noMessage ? null : message }
  }

  /** Replaces `{{ opt_out_url }}` in all texts of a value. */
  async fill<T>(value: T, link: OptOutLink): Promise<T> {
    const text = JSON.stringify(value)
    if (!isIn(text)) return value
    const url = JSON.stringify(await this.url(link)).slice(1, -1)
    return JSON.parse(text.replace(variable, () => url)) as T
  }
}

function isIn(text: string): boolean {
  return text.search(variable) >= 0
}

function uuidOf(bytes: Uint8Array): string {
  const uuid = Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
  return isUuid(uuid) ? uuid : noMessage
}
