// Reading again what a live channel says has changed. Of many messages the next read comes after the last one has ended, so
// that a busy channel neither floods the service nor keeps the page from ever being shown.
import { useEffect, useRef } from "preact/hooks"
import { type Answer, useLive } from "#console"

const soonMs = 250

export function useNews(
  channel: string | undefined,
  of: Pick<Answer<unknown>, "reload" | "isLoading">,
  isAbout: (data: unknown) => boolean = () => true,
): void {
  const now = useRef(of)
  now.current = of
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const soon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      if (now.current.isLoading) soon()
      else now.current.reload()
    }, soonMs)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  useLive(channel, {
    onMessage({ data }) {
      if (isAbout(data)) soon()
    },
    onGap: soon,
  })
}
