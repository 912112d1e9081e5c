import pc from 'picocolors'
import type { DiffLine } from 'toolcrib/clients'
import type { Terminal } from './terminal.ts'
import { cut, plainLines } from './text.ts'

const COLOURS = { ' ': pc.dim, '-': pc.red, '+': pc.green, '…': pc.dim } as const

/** Prints a diff, each line cut to the width of the terminal. */
export function showDiff(terminal: Terminal, diff: readonly DiffLine[]): void {
  for (const { kind, text } of diff)
    terminal.print(COLOURS[kind](cut(`  ${kind} ${plainLines(text).replaceAll('\t', '  ')}`, terminal.width)))
}
