import { useEffect, useRef, useState } from 'preact/hooks'
import type { Input, Output, RouteName } from '../api/routes.ts'
import { ask } from './api-client.ts'
import { goneSince, onEvents } from './live.ts'
import { needsToken } from './signed-in.ts'

/** The state of a request. `data` stays while the request is repeated. */
export interface Loaded<Data> {
  readonly data: Data | undefined
  readonly error: string | undefined
  readonly reload: () => void
}

/** Runs an effect when a value changes, but not for the first one, which would discard what was typed. */
export function useChanged<Value>(value: Value, effect: (value: Value) => void): void {
  const before = useRef(value)
  useEffect(() => {
    if (before.current === value) return
    before.current = value
    effect(value)
  }, [value])
}

/** The shortest pause between two requests of a route. */
const PAUSE_MS = 600
/**
 * A slow route is asked again after this many times its duration, for example with ten thousand tools and a busy agent.
 */
const PAUSE_TIMES = 8

/**
 * Asks a route, and again when the input changes, shortly after events of these types, and at an interval while the
 * page is visible.
 */
export function useApi<Name extends RouteName>(
  name: Name,
  input: Partial<Input<Name>> = {},
  { after = [], everyMs }: { readonly after?: readonly string[]; readonly everyMs?: number } = {},
): Loaded<Output<Name>> {
  const [state, setState] = useState<Pick<Loaded<Output<Name>>, 'data' | 'error'>>({
    data: undefined,
    error: undefined,
  })
  const [round, setRound] = useState(0)
  const key = `${name} ${JSON.stringify(input)}`
  const shown = useRef('')
  const tookMs = useRef(0)
  const reload = () => setRound((before) => before + 1)

  useEffect(() => {
    const stopped = new AbortController()
    const begun = performance.now()
    if (shown.current !== key) setState({ data: undefined, error: undefined })
    ask(name, input, stopped.signal).then(
      (data) => {
        shown.current = key
        tookMs.current = performance.now() - begun
        setState({ data, error: undefined })
      },
      (error: Error) => {
        if (!stopped.signal.aborted) setState((before) => ({ data: before.data, error: error.message }))
      },
    )
    return () => stopped.abort()
  }, [key, round])

  useEffect(() => {
    let timer = 0
    const stop = onEvents((events) => {
      if (!events.some(({ type }) => after.includes(type))) return
      // Later events do not delay it: a busy registry never pauses.
      timer ||= window.setTimeout(
        () => {
          timer = 0
          reload()
        },
        Math.max(PAUSE_MS, PAUSE_TIMES * tookMs.current),
      )
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [])

  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])

  useEffect(() => {
    let wasGone = goneSince.peek() !== undefined
    return goneSince.subscribe((since) => {
      if (wasGone && since === undefined) reload()
      wasGone = since !== undefined
    })
  }, [])

  useEffect(() => {
    let wasNeeded = needsToken.peek()
    return needsToken.subscribe((isNeeded) => {
      if (wasNeeded && !isNeeded && shown.current === '') reload()
      wasNeeded = isNeeded
    })
  }, [])

  return { ...state, reload }
}
