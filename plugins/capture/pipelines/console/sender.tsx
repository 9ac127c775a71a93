// Instructions for senders: the address and the authentication of events.
import { Answered, Copy, Facts, UntrustedText, useAnswer, visible } from "#console"
import type { ViewProps } from "./pipeline.tsx"

export default function Sender({ pipeline: { inbound_url, auth_mode, auth_config } }: ViewProps) {
  const read = useAnswer("auth_modes.list")
  if (inbound_url === null) return null
  return (
    <section aria-label="Sending" class="sender">
      <h2>Address</h2>
      <p>
        Events are POSTed to <code>{inbound_url}</code>
      </p>
      <div class="verbs">
        <Copy text={inbound_url} name="the address" />
      </div>
      <h2>Proof</h2>
      <Answered of={read}>
        {({ auth_modes }) => {
          const mode = auth_modes.find((one) => one.mode === auth_mode)
          if (!mode) return <p class="problem">The auth mode {auth_mode} is not installed: nothing verifies.</p>
          const settings = Object.entries(mode.config_schema["properties"] ?? {})
          return (
            <>
              <p>
                <code>{mode.mode}</code>: <UntrustedText text={mode.summary} />
              </p>
              {mode.description.split("\n\n").map((part) => (
                <UntrustedText key={part} text={part} isParagraph />
              ))}
              {settings.length > 0 && (
                <Facts
                  of={settings.map(([name, { description = "", default: fallback }]) => [
                    name,
                    <span key={name}>
                      <code>{visible(textOf(auth_config[name] ?? fallback))}</code> <UntrustedText text={description} />
                    </span>,
                  ])}
                />
              )}
            </>
          )
        }}
      </Answered>
      <h2>By hand</h2>
      <p class="about">
        {auth_mode === "none" ? "No proof is asked for." : "With the proof above in place; without it the answer is 401."}
      </p>
      <pre>{`curl -X POST '${inbound_url}' -H 'content-type: application/json' -d '{"email":"ada@example.com"}'`}</pre>
    </section>
  )
}

function textOf(value: unknown): string {
  if (value === undefined) return "not set"
  return typeof value === "string" ? value : JSON.stringify(value)
}
