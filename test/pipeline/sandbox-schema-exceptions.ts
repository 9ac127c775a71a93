export const knownFailures: ReadonlySet<string> = new Set<string>([])
