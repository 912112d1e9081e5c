import { hashText } from '../json.ts'
import { estimateTokens } from '../text.ts'
import type { ToolDefinition } from '../tool.ts'

/** What is known of the text of a definition. */
export interface DefinitionMeasures {
  /** About how many tokens it costs a turn. */
  readonly tokens: number
  /** Changes exactly when what the model is shown changes. */
  readonly fingerprint: string
}

/** Measures a definition once, whoever asks: definitions are frozen, and writing them takes longest. */
export function measureDefinition(definition: ToolDefinition): DefinitionMeasures {
  const known = MEASURED.get(definition)
  if (known) return known
  const text = JSON.stringify(definition)
  const measures = { tokens: estimateTokens(text), fingerprint: hashText(text) }
  MEASURED.set(definition, measures)
  return measures
}

const MEASURED = new WeakMap<ToolDefinition, DefinitionMeasures>()
