// Secrets of a pipeline with evidence of their use. Rotates secrets, and ends an old secret after its use has stopped.
import { useSignal } from "@preact/signals"
import {
  Ago,
  Answered,
  Badge,
  confirmed,
  formatNumber,
  inBackground,
  mayCall,
  Nothing,
  type Output,
  Problem,
  SameAs,
  Table,
  Time,
  useAnswer,
  useSubmit,
} from "#console"
import type { ViewProps } from "./pipeline.tsx"
import { Once } from "./secret.tsx"

type Secret = Output<"event_pipelines.list_secrets">["secrets"][number]

type Maker = "service" | "sender" | null

const everyMs = 10_000

export default function Secrets({ pipeline: { slug } }: ViewProps) {
  const listed = useAnswer("event_pipelines.list_secrets", { slug }, { everyMs })
  return (
    <section aria-label="Secrets">
      <Answered of={listed}>
        {({ secrets, made_by }) => (
          <>
            {secrets.length === 0 ? (
              <Nothing>
                {made_by === null
                  ? "Its auth mode needs no secret."
                  : "It has no secret, so that no event verifies: give it the one that its sender made."}
              </Nothing>
            ) : (
              <Table<Secret>
                label="Secrets"
                rows={secrets}
                keyOf={({ id }) => id}
                columns={[
                  { name: "secret", show: ({ id }) => <code>{id.slice(0, 8)}</code> },
                  { name: "state", show: (one) => <Stands secret={one} /> },
                  { name: "made", show: ({ created_at }) => <Time value={created_at} /> },
                  { name: "last verified", show: ({ last_verified_at }) => <Ago value={last_verified_at} /> },
                  { name: "last hour", isNumber: true, show: ({ verified_last_hour }) => formatNumber(verified_last_hour) },
                  { name: "events", isNumber: true, show: ({ verified_events }) => formatNumber(verified_events) },
                  {
                    name: "from",
                    show: ({ addresses, more_addresses }) =>
                      addresses.map(({ address }) => address).join(", ") + (more_addresses ? ", and more" : ""),
                  },
                  { name: "end", title: "", show: (one) => <End slug={slug} secret={one} onDone={listed.reload} /> },
                ]}
              />
            )}
            {made_by !== null && <Rotate slug={slug} madeBy={made_by} isFirst={secrets.length === 0} onDone={listed.reload} />}
          </>
        )}
      </Answered>
      <SameAs name="event_pipelines.list_secrets" input={{ slug }} />
    </section>
  )
}

function Stands({ secret: { state, ends_at, quiet_since, may_end } }: { readonly secret: Secret }) {
  if (state === "current") return <Badge tone="good">current</Badge>
  return (
    <>
      <Badge tone={may_end ? "good" : "warning"}>{quiet_since === null ? "may still be in use" : "has gone quiet"}</Badge> ends{" "}
      <Ago value={ends_at} />
      {quiet_since !== null && (
        <>
          , quiet since <Time value={quiet_since} />
        </>
      )}
    </>
  )
}

function End({ slug, secret: { id, state, verified_last_hour, may_end, addresses }, onDone }: EndArgs) {
  const isOffered = state !== "current" && mayCall("event_pipelines.end_secret")
  // The plugin that counts events by secret may be off.
  const isCounted = mayCall("event_pipelines.activity")
  const input = { slug, secret_id: id, force: verified_last_hour > 0 || !isCounted }
  const { submit, isBusy, error } = useSubmit("event_pipelines.end_secret", isOffered ? input : undefined)
  if (!isOffered) return null
  const end = async () => {
    const from = addresses.length > 0 ? ` They came from ${addresses.map(({ address }) => address).join(", ")}.` : ""
    const events = verified_last_hour === 1 ? "1 event" : `${formatNumber(verified_last_hour)} events`
    const text =
      verified_last_hour > 0
        ? `${events} of the last hour would have failed without it.${from}`
        : isCounted
          ? `No event of the last hour would have failed without it.${may_end ? "" : " Whether its senders have moved is not known yet."}`
          : "The service does not count the events of secrets. Senders with this secret will fail."
    if (!(await confirmed({ title: "End this secret now?", text, verb: "End it", isDangerous: true }))) return
    if (await submit(input)) onDone()
  }
  return (
    <>
      <button type="button" class={may_end ? "" : "danger"} aria-disabled={isBusy} onClick={() => inBackground(end())}>
        End
      </button>
      {error && <Problem text={error.message} />}
    </>
  )
}

interface EndArgs {
  readonly slug: string
  readonly secret: Secret
  readonly onDone: () => void
}

const overlaps = [
  ["24h", "for 24 hours"],
  ["7d", "for 7 days"],
  ["1h", "for an hour"],
  ["", "no longer"],
] as const

interface RotateArgs {
  readonly slug: string
  readonly madeBy: Maker
  /** True if the pipeline has no secret that could overlap. */
  readonly isFirst: boolean
  readonly onDone: () => void
}

function Rotate({ slug, madeBy, isFirst, onDone }: RotateArgs) {
  const overlap = useSignal("24h")
  const given = useSignal("")
  const isOffered = mayCall("event_pipelines.rotate_secret")
  // The shown call leaves out the user's own secret.
  const input = { slug, ...(!isFirst && overlap.value && { overlap: overlap.value }) }
  const { submit, isBusy, answer, error } = useSubmit("event_pipelines.rotate_secret", isOffered ? input : undefined)
  if (!isOffered) return null
  const verb = isFirst ? "Give" : "Rotate"
  const rotate = async () => {
    const isEnding = !isFirst && overlap.value === ""
    const text = isEnding ? "The old one ends at once: senders that still use it are refused." : "The old one holds on until then."
    if (!(await confirmed({ title: `${verb} the secret?`, text: isFirst ? "" : text, verb, isDangerous: isEnding }))) return
    if (!(await submit({ ...input, ...(given.value !== "" && { secret: given.value }) }))) return
    given.value = ""
    onDone()
  }
  return (
    <section aria-label={verb}>
      <h2>{isFirst ? "Give the secret" : "Rotate"}</h2>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          inBackground(rotate())
        }}
      >
        {!isFirst && (
          <div>
            <label for="overlap">the old one holds</label>
            <select id="overlap" value={overlap.value} onChange={(event) => (overlap.value = event.currentTarget.value)}>
              {overlaps.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </div>
        )}
        <div>
          <label for="own-secret">{madeBy === "sender" ? "the sender's secret" : "new secret, if the sender made it"}</label>
          <input
            id="own-secret"
            type="password"
            autocomplete="off"
            required={madeBy === "sender"}
            value={given.value}
            onInput={(event) => (given.value = event.currentTarget.value)}
          />
        </div>
        <button type="submit" aria-disabled={isBusy}>
          {verb}
        </button>
      </form>
      {error && <Problem text={error.message} />}
      {answer?.secret && madeBy === "service" && <Once secret={answer.secret} />}
    </section>
  )
}
