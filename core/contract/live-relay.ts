// Carries live messages to the sockets of the other workers of this machine, where these share an embedded file. (On
// storage of a cluster an adapter of that storage does.)
export interface LiveRelay {
  /** Learns which rooms the others are in. */
  start(): Promise<void>
  /** Whether a socket of another worker is in the room. */
  wanted(room: string): boolean
  send(room: string, message: unknown): void
  onMessage(run: (room: string, message: unknown) => void): void
  /** A socket of this worker is in the room. Resolves when all others know, so that none of their messages passes it by. */
  entered(room: string): Promise<void>
  /** None is any more. */
  left(room: string): void
  /** Calls when no message can come any more. */
  onLost(run: () => void): void
}
