import type { CaseResult } from '../recall.ts'
export function recallPlot(_results: readonly CaseResult[]): string {
  return ''
}
