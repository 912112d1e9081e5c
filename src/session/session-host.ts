import type { CallContext, CallEnvironment } from '../call/call-environment.ts'
import type { Emit } from '../events.ts'
import type { Entry } from '../registry/entry.ts'
import type { View } from '../registry/viewer.ts'
import type { SearchOptions, SearchResult } from '../search/search-result.ts'
import type { TokenCounter } from '../tokens.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { Activation } from './activations.ts'
import type { Session } from './session.ts'
import type { SessionSettings } from './settings.ts'

/** What a session asks of the registry that opened it. */
export interface SessionHost {
  isAvailable(entry: Entry): boolean
  search(query: string, options: SearchOptions, session: Session): Promise<SearchResult>
  execute(calls: readonly ToolCall[], ctx: CallContext, session: CallSession): Promise<CallResult[]>
  /** The permitted tool that a name means, however it is written. */
  findByName(name: string, view: View): Entry | undefined
  fork(parent: Session, settings: SessionSettings, inherited: readonly Activation[]): Session
  readonly countTokens?: TokenCounter | undefined
  readonly emit: Emit
}

/** What the pipeline needs to know of the session whose calls it runs. */
export type CallSession = Pick<
  CallEnvironment,
  'resolve' | 'denial' | 'onUse' | 'needsSchema' | 'searchToolName'
> & {
  readonly view: View
}

/** Meta-tools as entries, and the paragraph that explains them. */
export interface MetaTools {
  readonly shown: readonly Entry[]
  readonly promptNote: string
}
