// One of several workers: a whole service that takes its settings from the parent and has its commits written there. When
// the parent is gone it takes no more events, and tells clients to come again until the next start sends it away.
import { rmSync } from "node:fs"
import { linkTo, workerTopics } from "../../cluster/workers/hub.ts"
import { dismissed } from "../../cluster/workers/orphans.ts"
import { type Places, placesIn } from "../../cluster/workers/places.ts"
import type { SocketLink } from "../../cluster/workers/socket-link.ts"
import { sleep, systemClock } from "../../kernel/clock.ts"
import { timeOrderedIds } from "../../kernel/ids.ts"
import { createLog } from "../../kernel/log.ts"
import { startAwayServer } from "../../surface/http/away.ts"
import { isEmbedded } from "../embedded.ts"
import { buildRuntime, type Runtime } from "../runtime.ts"
import type { Welcome } from "./parent.ts"
import { shareOf } from "./share.ts"

/** What an orphan that is sent away may still wait for. */
const lastMs = 1_000

/** Resolves when it listens; the process then ends by a signal, or by its parent's word. */
export async function startWorker(parentSocket: string, slot: number): Promise<void> {
  const link = await linkTo(parentSocket)
  // Nobody is there to serve for yet.
  let leave: () => void = () => process.exit(1)
  link.onLost(() => leave())
  // Nor is there anything to be stopped.
  link.hear(workerTopics.stop, () => process.exit(0))
  const { config: whole, workers } = await link.ask<Welcome>(workerTopics.hello, { pid: process.pid, slot })
  const config = shareOf(whole, { slot, workers })
  const log = createLog(config.log.level).child({ worker: slot })
  try {
    const places = placesIn(config.data_dir)
    rmSync(places.doorOf(slot), { force: true })
    const runtime = await buildRuntime({ config, log, worker: { link, slot, workers, doorOf: places.doorOf } })
    link.answer(workerTopics.alive, () => true)
    stopWhenTold(runtime, link)
    await runtime.start()
    leave = () => void outlive(runtime, places)
    if (link.lost) leave()
    link.tell(workerTopics.listening, { url: runtime.listening.url, greetings: runtime.listening.greetings })
  } catch (error) {
    await link.ask(workerTopics.failed, error instanceof Error ? error.message : String(error)).catch(() => undefined)
    process.exit(1)
  }
}

function stopWhenTold(runtime: Runtime, link: SocketLink): void {
  let asked = false
  const stop = () => {
    if (asked) return
    asked = true
    runtime.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        runtime.log.error({ err: error }, "could not stop cleanly")
        process.exit(1)
      },
    )
  }
  link.hear(workerTopics.stop, stop)
  process.on("SIGTERM", stop)
  // A terminal sends it to parent and workers at once, and the parent says when.
  process.on("SIGINT", () => {
    if (link.lost) stop()
  })
  // Where the logs go may end with the parent.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
}

/** On an embedded file nothing can be kept any more; a node of a cluster goes on until it is replaced. */
async function outlive(runtime: Runtime, places: Places): Promise<void> {
  const { config, log, listening } = runtime
  const port = Number(new URL(listening.url).port)
  const embedded = isEmbedded(config)
  log.error(
    { pid: process.pid },
    embedded
      ? "the parent of the workers is gone: answering 503 until the service is started again"
      : "the parent of the workers is gone: going on until the service is started again",
  )
  const away = embedded ? await startAwayServer({ host: config.server.host, port }, timeOrderedIds(systemClock)) : undefined
  const ending = embedded ? runtime.stop() : undefined
  await dismissed(places, { pid: process.pid, slot: undefined, port }, systemClock)
  // What was under way has long been told that it cannot be kept.
  await (ending ? Promise.race([ending, sleep(systemClock, lastMs)]) : runtime.stop())
  await away?.close()
  process.exit(0)
}
