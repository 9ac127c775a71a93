// `millrace/client`: the client, for Node and browsers.
export * from "#client"
