// Sets the clock of a process to the time of the fixture, so that no document has expired. Loaded with --import, by tests only.
const offsetMs = Number(process.env["MILLRACE_TEST_OFFSET_MS"] ?? 0)
const { now } = Date

Date.now = () => now() + offsetMs
