import { lstat, readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { Skill } from '@toolcrib/core'
import { describeError, isRecord, withoutHiding } from '@toolcrib/core/internal'
import { readLimitedFile } from '../config/read-limited-file.ts'

/** Options of `loadSkills()`. */
export interface LoadSkillsOptions {
  /** Called for each skill that cannot be used. */
  readonly onSkipped?: (path: string, reason: string) => void
}

/** The limits of the skills specification, and of one file. */
const MAX_FILES = 512
const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_DESCRIPTION = 1_024
const NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/

/**
 * `toolcrib/skills`: reads the skills of folders: `<folder>/<name>/SKILL.md` with `name` and `description` in its
 * frontmatter, and the files beside it. Instructions and files are read when they are loaded. Of several skills with one
 * name, the first counts. A folder that does not exist has none; links are not followed. For Node, Bun and Deno.
 */
export async function loadSkills(
  folders: string | readonly string[],
  { onSkipped = () => {} }: LoadSkillsOptions = {},
): Promise<readonly Skill[]> {
  const skills = new Map<string, Skill>()
  for (const folder of [folders].flat()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const name of entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()) {
      const path = join(folder, name)
      try {
        const skill = await readSkill(path, name)
        if (skill === undefined) continue
        if (skills.has(name)) onSkipped(path, 'an earlier folder has a skill of this name')
        else skills.set(name, skill)
      } catch (error) {
        onSkipped(path, describeError(error))
      }
    }
  }
  return [...skills.values()]
}

/** Undefined if the folder has no SKILL.md. */
async function readSkill(folder: string, name: string): Promise<Skill | undefined> {
  const path = join(folder, 'SKILL.md')
  const isThere = await lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  )
  if (!isThere) return undefined
  const { fields } = await readParts(folder)
  const description = typeof fields.description === 'string' ? withoutHiding(fields.description).trim() : ''
  if (fields.name !== name)
    throw new Error(`its name is ${JSON.stringify(fields.name)}, but its folder is "${name}"`)
  if (!NAME.test(name))
    throw new Error('a name has lower-case letters, digits and single hyphens, 64 at most')
  if (description === '') throw new Error('it has no description')
  const files = await filesOf(folder)
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    load: async () => (await readParts(folder)).body,
    files: Object.fromEntries(files.map((file) => [file, () => readVisible(folder, file)])),
  }
}

async function readParts(
  folder: string,
): Promise<{ readonly fields: Record<string, unknown>; readonly body: string }> {
  const text = (await readVisible(folder, 'SKILL.md')).replace(/^\uFEFF/, '')
  const [, head, body = ''] = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text) ?? []
  if (head === undefined) throw new Error('SKILL.md has no frontmatter between lines of ---')
  const { parse } = await import('yaml')
  const fields: unknown = parse(head, { maxAliasCount: 100 })
  return { fields: isRecord(fields) ? fields : {}, body: body.trim() }
}

/** Reads a file that is still where it was listed. Hidden characters never reach a model. */
async function readVisible(folder: string, file: string): Promise<string> {
  const path = join(await realpath(folder), ...file.split('/'))
  if ((await realpath(path)) !== path) throw new Error(`${file} is a link, which is not followed`)
  return withoutHiding(await readLimitedFile(path, MAX_FILE_BYTES))
}

/** The paths of the other files, with `/`. */
async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => file !== 'SKILL.md' && !/(^|\/)\./.test(file) && withoutHiding(file) === file)
  if (files.length >= MAX_FILES) throw new Error(`it has more than ${MAX_FILES} files`)
  return files.sort()
}
