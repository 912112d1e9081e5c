import type { DiffLine } from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import type { Terminal } from './terminal.ts'
import { cut, plainLines } from './text.ts'

const COLOURS = { ' ': pc.dim, '-': pc.red, '+': pc.green, '…': pc.dim } as const

/** Prints a diff. A terminal shows each line on one line, cut to its width. */
export function showDiff(terminal: Terminal, diff: readonly DiffLine[]): void {
  const { output, width } = terminal
  for (const { kind, text } of diff) {
    const line = `  ${kind} ${plainLines(text).replaceAll('\t', '  ')}`.trimEnd()
    terminal.print(COLOURS[kind](output.isTTY ? cut(line, width) : line))
  }
}
