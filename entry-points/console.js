// `millrace/console`: parts of screens for the console of a project.
export * from "#console"
