// The cells of the shared memory that name the event in hand: the group's number (0 between groups) and the event's
// index in it, which the isolate itself counts up. The last is never written; the watching thread sleeps on it.

export const groupAt = 0
export const indexAt = 1
export const restAt = 2
export const cells = 3
export const idle = 0
