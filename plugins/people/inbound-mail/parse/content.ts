// Parsed content of a message, with bounds. All values come from an untrusted author. Long texts are cut instead of refused.

export interface MailAddress {
  readonly name: string
  readonly address: string
}

export interface MailAttachment {
  /** Empty if absent. Without path and control characters. */
  readonly filename: string
  /** Lower case. */
  readonly media_type: string
  readonly size: number
  /** True for a part of the HTML, such as an embedded picture. */
  readonly inline: boolean
}

/** A part of a `multipart/report` (RFC 6522) besides its text, such as `message/delivery-status` or `message/feedback-report`. */
export interface ReportPart {
  /** Lower case. */
  readonly media_type: string
  readonly text: string
}

export interface MailContent {
  /**
   * `too_complex` and `malformed`: parsing failed, so only the headers are present.
   * `undecodable`: a text contains invalid bytes. U+FFFD replaces them.
   */
  readonly problem: "" | "too_complex" | "malformed" | "undecodable"
  /** With angle brackets. Empty if absent. */
  readonly message_id: string
  /** Ids of `In-Reply-To` and `References`, nearest first, with angle brackets. */
  readonly references: readonly string[]
  /** Undefined if the header is missing or has no address. */
  readonly from: MailAddress | undefined
  readonly reply_to: readonly MailAddress[]
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly subject: string
  /** RFC 3339. Empty if missing or unreadable. */
  readonly date: string
  /** Converted from HTML if the message has no text part. */
  readonly text: string
  /** In order. Keys in lower case, values unfolded. */
  readonly headers: readonly { readonly key: string; readonly value: string }[]
  readonly attachments: readonly MailAttachment[]
  /**
   * Set for `multipart/report`, and for other types with report parts. The type in lower case, such as `delivery-status` or
   * `feedback-report`.
   */
  readonly report: { readonly type: string; readonly parts: readonly ReportPart[] } | undefined
}

/** Returns the values of a header, in order. */
export function headersOf({ headers }: Pick<MailContent, "headers">, key: string): string[] {
  return headers.filter((header) => header.key === key).map(({ value }) => value)
}
