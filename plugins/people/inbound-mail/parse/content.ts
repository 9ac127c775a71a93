// What a message says, taken apart within bounds; all of it is what a stranger wrote. Texts are cut, never refused.

export interface MailAddress {
  readonly name: string
  readonly address: string
}

export interface MailAttachment {
  /** Empty where it has none; without path or control characters. */
  readonly filename: string
  /** Lower case. */
  readonly media_type: string
  readonly size: number
  /** Part of the HTML, such as a picture in it. */
  readonly inline: boolean
}

/** A part of a `multipart/report` (RFC 6522) beside its text, such as `message/delivery-status` or `message/feedback-report`. */
export interface ReportPart {
  /** Lower case. */
  readonly media_type: string
  readonly text: string
}

export interface MailContent {
  /**
   * `too_complex` and `malformed`: the message could not be taken apart, so that only its headers are here.
   * `undecodable`: bytes of a text have no meaning in its charset; U+FFFD stands for them.
   */
  readonly problem: "" | "too_complex" | "malformed" | "undecodable"
  /** With angle brackets; empty where it has none. */
  readonly message_id: string
  /** Ids of `In-Reply-To` and `References`, nearest first, with angle brackets. */
  readonly references: readonly string[]
  /** Undefined where the header is missing or holds no address. */
  readonly from: MailAddress | undefined
  readonly reply_to: readonly MailAddress[]
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly subject: string
  /** RFC 3339; empty where it has none that can be read. */
  readonly date: string
  /** Made of HTML where it has none of its own. */
  readonly text: string
  /** In order; keys in lower case, values unfolded. */
  readonly headers: readonly { readonly key: string; readonly value: string }[]
  readonly attachments: readonly MailAttachment[]
  /** Only of `multipart/report`, and of what holds such parts without being one; the type in lower case, such as `delivery-status` or `feedback-report`. */
  readonly report: { readonly type: string; readonly parts: readonly ReportPart[] } | undefined
}

/** The values of a header, in order. */
export function headersOf({ headers }: Pick<MailContent, "headers">, key: string): string[] {
  return headers.filter((header) => header.key === key).map(({ value }) => value)
}
