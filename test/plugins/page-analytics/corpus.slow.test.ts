// Every hostile query, run unguarded first until it has shown that it does harm; those that grow or hang in a process of
// their own, all of them in the soak and every third here.
import { isSoak } from "../../tier.ts"
import { hostileQueries } from "./corpus/hostile-queries.ts"
import { hostileQuerySuite, takesProcess } from "./corpus/suite.ts"

hostileQuerySuite("hostile analytics queries, each proved", hostileQueries, {
  proves: (query, index) => isSoak || !takesProcess(query) || index % 3 === 0,
})
