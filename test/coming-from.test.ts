import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { caliban } from './coming-from/caliban.ts'
import { ethos } from './coming-from/ethos.ts'
import { frameworks } from './coming-from/frameworks.ts'
import { gateways } from './coming-from/gateways.ts'
import { logicore } from './coming-from/logicore.ts'
import { moltis } from './coming-from/moltis.ts'
import { nexo } from './coming-from/nexo.ts'

const checks: Readonly<Record<string, Readonly<Record<string, () => unknown>>>> = {
  Moltis: moltis,
  Logicore: logicore,
  Caliban: caliban,
  Ethos: ethos,
  Nexo: nexo,
  ...frameworks,
  ...gateways,
}

/** The rows of docs/coming-from.md: their section, and what they are called there. */
function readRows(): readonly (readonly [section: string, there: string])[] {
  const page = readFileSync(join(import.meta.dirname, '../docs/coming-from.md'), 'utf8')
  return page
    .split('\n## ')
    .slice(1)
    .flatMap((text) => {
      const [section = '', ...lines] = text.split('\n')
      const rows = lines.filter((line) => line.startsWith('| ')).slice(1)
      return rows.map((row) => [section, row.split(' | ')[0]?.slice(2) ?? ''] as const)
    })
}

describe('the tables of docs/coming-from.md', () => {
  const rows = readRows()

  it('have a check for each row, and no other', () => {
    const checked = Object.entries(checks).flatMap(([section, own]) =>
      Object.keys(own).map((there) => `${section}: ${there}`),
    )
    expect(checked.sort()).toEqual(rows.map(([section, there]) => `${section}: ${there}`).sort())
    expect(rows.length).toBeGreaterThan(80)
  })

  it.each(rows)('%s: %s', async (section, there) => {
    await checks[section]?.[there]?.()
  })
})
