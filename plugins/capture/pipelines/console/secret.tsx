// Shows a new secret once.
import { Copy } from "#console"

export function Once({ secret }: { readonly secret: string }) {
  return (
    <section aria-label="Secret" class="once">
      <p>
        <b>The secret, shown this once:</b> <code>{secret}</code>
      </p>
      <div class="verbs">
        <Copy text={secret} name="the secret" />
      </div>
      <p class="about">Give it to the sender. The service keeps it sealed, and shows it to nobody again.</p>
    </section>
  )
}
