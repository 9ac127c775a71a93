// What each error code means to a client, for the documentation.
import type { ErrorCode } from "../../kernel/errors.ts"

export interface ErrorMeaning {
  readonly means: string
  /** What the caller can do. */
  readonly advice: string
}

export const errorMeanings: Readonly<Record<ErrorCode, ErrorMeaning>> = {
  invalid_argument: { means: "The request is not valid.", advice: "Correct it; `details.fields` names every field." },
  failed_precondition: {
    means: "The request is valid, but the present state does not allow it.",
    advice: "Do first what the message says.",
  },
  out_of_range: { means: "A value is out of range.", advice: "Use a value in the range." },
  unauthenticated: { means: "Credentials are missing or not valid.", advice: "Send a key that is neither revoked nor expired." },
  permission_denied: {
    means: "The credential lacks the scope or role, or only staff may do this.",
    advice: "Use another key; `details` says what is required.",
  },
  not_found: { means: "The resource does not exist, or belongs to another organization.", advice: "List the resources." },
  already_exists: { means: "The name is taken.", advice: "Use another, or update the existing resource." },
  aborted: {
    means: "A concurrent change came first, or the same call is still running.",
    advice: "Read it again and retry; after `still_running`, retry a little later.",
  },
  resource_exhausted: {
    means: "A limit of rate, number or size is exceeded.",
    advice: "`Retry-After` says when to retry, where a retry helps.",
  },
  canceled: { means: "The caller disconnected.", advice: "None." },
  internal: { means: "The service has a defect.", advice: "Report it with the request id." },
  unknown: { means: "The response is not one of the service; a proxy's, for example.", advice: "Check the address." },
  data_loss: {
    means: "Stored data is damaged, or the response with a secret that is shown once was lost.",
    advice: "Restore it, or create a new one.",
  },
  unimplemented: { means: "There is no such operation, or not with this method.", advice: "GET /openapi.json lists the operations." },
  unavailable: { means: "Storage is unavailable, the service is stopping, or it cannot be reached.", advice: "Retry shortly." },
  deadline_exceeded: { means: "The deadline passed.", advice: "Ask for less, or retry." },
}
