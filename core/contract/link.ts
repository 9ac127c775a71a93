// What passes between the workers of one machine and their parent: each end asks, answers and tells the other by topic.
// Bodies are what structured clones carry. Order is kept.
export interface Link {
  /** Throws what the other end threw; `unavailable` when the link is lost before the answer. */
  ask<T>(topic: string, body?: unknown): Promise<T>
  /** Says something that is not answered; into the void when the link is lost. */
  tell(topic: string, body?: unknown): void
  /** One answerer a topic. */
  answer<T>(topic: string, serve: (body: T) => unknown): void
  /** One listener a topic. */
  hear<T>(topic: string, run: (body: T) => void): void
  /** True once the other end is gone; it does not come back on this link. */
  readonly lost: boolean
  /** Calls at once when it is lost already. */
  onLost(run: () => void): void
}
