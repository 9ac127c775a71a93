// `millrace/live`: live updates alone, for pages that call nothing.
export * from "#client/live"
