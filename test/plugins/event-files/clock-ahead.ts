// A preload that moves the process's wall time ahead by HOURS_AHEAD.
const ahead = Number(process.env["HOURS_AHEAD"] ?? 0) * 3_600_000
const { now } = Date
Date.now = () => now() + ahead
