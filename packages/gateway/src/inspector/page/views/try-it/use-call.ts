import { signal } from '@preact/signals'
import { useRef, useState } from 'preact/hooks'
import type { CallLine } from '../../../api/call.ts'
import { tellLines } from '../../api-client.ts'

export type CallOutcome = Extract<CallLine, { kind: 'result' }>['result']

/** A call made on this page. */
export interface PastCall {
  readonly at: number
  readonly name: string
  readonly args: unknown
  readonly isDry: boolean
  readonly outcome: CallOutcome
}

/** The calls of this tab, the latest first. */
export const pastCalls = signal<readonly PastCall[]>([])
const KEPT = 50

export interface Call {
  readonly isRunning: boolean
  readonly outcome: PastCall | undefined
  readonly progress: Extract<CallLine, { kind: 'progress' }> | undefined
  readonly error: string | undefined
  readonly run: (args: unknown, options?: { readonly dryRun?: boolean }) => void
  readonly cancel: () => void
  /** Shows the result of an earlier call again. */
  readonly show: (past: PastCall) => void
}

/** Runs calls of one tool, one at a time. */
export function useCall(name: string): Call {
  const [isRunning, setRunning] = useState(false)
  const [outcome, setOutcome] = useState<PastCall>()
  const [progress, setProgress] = useState<Call['progress']>()
  const [error, setError] = useState<string>()
  const stopped = useRef<AbortController>(undefined)

  const run: Call['run'] = async (args, { dryRun = false } = {}) => {
    const stop = new AbortController()
    stopped.current = stop
    setRunning(true)
    setOutcome(undefined)
    setProgress(undefined)
    setError(undefined)
    const take = (line: CallLine) => {
      if (line.kind === 'progress') {
        setProgress(line)
        return
      }
      const past: PastCall = { at: Date.now(), name, args, isDry: dryRun, outcome: line.result }
      setOutcome(past)
      pastCalls.value = [past, ...pastCalls.value].slice(0, KEPT)
    }
    try {
      await tellLines<CallLine>('call', { name, args, dryRun }, { onLine: take, signal: stop.signal })
    } catch (failure) {
      setError(stop.signal.aborted ? 'Cancelled. The server was told to stop.' : (failure as Error).message)
    } finally {
      setRunning(false)
    }
  }

  const show = (past: PastCall) => {
    setError(undefined)
    setOutcome(past)
  }
  return { isRunning, outcome, progress, error, run, cancel: () => stopped.current?.abort(), show }
}
