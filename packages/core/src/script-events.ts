/** What happens to one script. */
export type ScriptEvent =
  | {
      readonly type: 'script-started'
      readonly run: string
      readonly toolCallId: string
      readonly source: string
    }
  /** A script waits for a person: these calls need an answer. */
  | { readonly type: 'script-paused'; readonly run: string; readonly names: readonly string[] }
  | {
      readonly type: 'script-decided'
      readonly run: string
      readonly granted: number
      readonly denied: number
    }
  | { readonly type: 'script-resumed'; readonly run: string }
  | {
      readonly type: 'script-ended'
      readonly run: string
      readonly ok: boolean
      readonly code?: string
      /** The beginning of what the model reads. */
      readonly answer: string
    }
