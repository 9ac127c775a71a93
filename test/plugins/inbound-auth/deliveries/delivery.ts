// One delivery of a provider, as the vendor documents it: its format and field names, with values of our own.

export interface Delivered {
  readonly provider: string
  /** Page of the vendor's public documentation, as of November 2026. */
  readonly source: string
  /** JSON; `$secret` stands for the pipeline's secret, `$now` for the time. */
  readonly json?: unknown
  /** Urlencoded fields. */
  readonly form?: Readonly<Record<string, string>>
  /** Fields of a multipart body. */
  readonly multipart?: Readonly<Record<string, string>>
  readonly xml?: string
  /** Query of an event by GET. */
  readonly get?: Readonly<Record<string, string>>
  /** Sent without a body. */
  readonly empty?: true
  /** Content type, if it is not the usual one of the format. */
  readonly type?: string
  /** Headers that the provider sends beside its proof. */
  readonly headers?: Readonly<Record<string, string>>
  /** More of `auth_config`. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The event, if it is not the JSON or the form itself. */
  readonly event?: unknown
  /** The answer, if the provider expects one. */
  readonly answer?: string
}
