// Every hostile query, run unguarded first until it has shown that it does harm; those that grow or hang in a process of
// their own.
import { hostileQueries } from "./corpus/hostile-queries.ts"
import { hostileQuerySuite } from "./corpus/suite.ts"

hostileQuerySuite("hostile analytics queries, each proved", hostileQueries, { proves: true })
