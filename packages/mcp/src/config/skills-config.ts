import { isAbsolute, join } from 'node:path'
import type { Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[skills]`: instructions in folders, which models find and load. */
export interface SkillsConfig {
  /** Folders with skills, `<name>/SKILL.md` each, relative to the config's folder. */
  readonly paths?: readonly string[]
}

const SKILLS_FIELDS = { paths: 'texts' } as const satisfies Fields

/** Reads the table `[skills]`, with its variables expanded. Throws `config-invalid` for anything invalid. */
export function readSkills(table: unknown, place: Place, variables: Variables): SkillsConfig {
  const read = readTable(table, SKILLS_FIELDS, place)
  const { values, faults } = fillTable(read, SKILLS_FIELDS, place, variables)
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  const { paths = [] }: SkillsConfig = values
  return { paths: paths.map((path) => (isAbsolute(path) ? path : join(variables.configFolder ?? '.', path))) }
}
