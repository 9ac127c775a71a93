// Every hostile query, first run unguarded as proof of its harm. Growing and hanging queries use their own process: all in the
// soak, every third here.
import { isSoak } from "../../tier.ts"
import { hostileQueries } from "./corpus/hostile-queries.ts"
import { hostileQuerySuite, takesProcess } from "./corpus/suite.ts"

hostileQuerySuite("hostile analytics queries, each proved", hostileQueries, {
  proves: (query, index) => isSoak || !takesProcess(query) || index % 3 === 0,
})
