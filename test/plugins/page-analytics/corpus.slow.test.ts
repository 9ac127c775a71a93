// The hostile queries that grow or hang: each runs unguarded in a process of its own until it has shown that it does.
import { hostileQueries } from "./corpus/hostile-queries.ts"
import { hostileQuerySuite } from "./corpus/suite.ts"

hostileQuerySuite(
  "hostile analytics queries that grow or hang",
  hostileQueries.filter(({ harm }) => "grows" in harm || "hangs" in harm),
)
