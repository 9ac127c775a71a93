// Names of the formats that a schema can assert. Lint uses these without the checking code, because the code runs in isolates.

export const formatNames = [
  ...["binary", "byte", "date", "date-time", "double", "duration", "email", "float", "hostname", "idn-email", "idn-hostname"],
  ...["int32", "int64", "ipv4", "ipv6", "iri", "iri-reference", "iso-date-time", "iso-time", "json-pointer"],
  ...["json-pointer-uri-fragment", "password", "regex", "relative-json-pointer", "time", "uri", "uri-reference", "uri-template"],
  ...["url", "uuid"],
] as const
