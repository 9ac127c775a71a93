// The cells of the shared memory that name what is in hand: the number of a group of events, or of a program being
// compiled (0 between them), and the event's index in its group, which the isolate itself counts up. The last is never
// written; the watching thread sleeps on it.

export const groupAt = 0
export const indexAt = 1
export const restAt = 2
export const cells = 3
export const idle = 0
