// Request headers as the stamp reads them: names in lower case, a repeated one as a list.

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>
