// A process in whose time a fixture was filled: what expires has not expired. Loaded with --import, by tests only.
const offsetMs = Number(process.env["MILLRACE_TEST_OFFSET_MS"] ?? 0)
const { now } = Date

Date.now = () => now() + offsetMs
