// One delivery of a provider in the vendor's documented format and field names, with our own values.

export interface Delivered {
  readonly provider: string
  /** Page of the vendor's public documentation, as of November 2026. */
  readonly source: string
  /** JSON. `$secret` stands for the pipeline's secret, `$now` for the time. */
  readonly json?: unknown
  /** Urlencoded fields. */
  readonly form?: Readonly<Record<string, string>>
  /** Fields of a multipart body. */
  readonly multipart?: Readonly<Record<string, string>>
  readonly xml?: string
  /** Query of an event by GET. */
  readonly get?: Readonly<Record<string, string>>
  /** True for a delivery without a body. */
  readonly empty?: true
  /** Content type, if other than the usual type of the format. */
  readonly type?: string
  /** Headers sent besides the proof. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of `auth_config`. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The event, if other than the JSON or the form itself. */
  readonly event?: unknown
  /** The answer, if the provider expects one. */
  readonly answer?: string
}
