// What each error code means to a client, for the documentation.
import type { ErrorCode } from "../../kernel/errors.ts"

export interface ErrorMeaning {
  readonly means: string
  /** What the caller can do. */
  readonly advice: string
}

export const errorMeanings: Readonly<Record<ErrorCode, ErrorMeaning>> = {
  invalid_argument: { means: "Something in the request is wrong by itself.", advice: "Change it; `details.fields` names every field." },
  failed_precondition: { means: "The request is right, and things stand in its way.", advice: "Do what the message says first." },
  out_of_range: { means: "A value lies beyond what there is.", advice: "Give one within." },
  unauthenticated: { means: "There is no credential, or none that counts.", advice: "Send a key that is neither revoked nor expired." },
  permission_denied: {
    means: "The credential may not do this: its scope, its role, or staff only.",
    advice: "Use another key; `details` says what is needed.",
  },
  not_found: { means: "There is no such thing, or it is another organization's.", advice: "Look at the list." },
  already_exists: { means: "The name is taken.", advice: "Take another, or change what is there." },
  aborted: {
    means: "Something else changed it meanwhile, or the same call is still running.",
    advice: "Read it again and repeat; `still_running` means a little later.",
  },
  resource_exhausted: { means: "Too much, too often, or too large.", advice: "`Retry-After` says when to try again, where waiting helps." },
  canceled: { means: "The caller went away.", advice: "Nothing." },
  internal: { means: "Something went wrong in the service.", advice: "Report it with the request's id." },
  unknown: { means: "An answer that the service did not make, a proxy's for one.", advice: "Look at the address." },
  data_loss: { means: "What was kept is damaged, or a secret shown once was lost on the way.", advice: "Restore it, or make a fresh one." },
  unimplemented: { means: "There is no such operation, or not by this method.", advice: "GET /openapi.json lists what there is." },
  unavailable: { means: "Storage is away, the service is stopping, or it cannot be reached.", advice: "Try again in a moment." },
  deadline_exceeded: { means: "It took longer than it may.", advice: "Ask for less, or try again." },
}
