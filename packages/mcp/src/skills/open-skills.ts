import { existsSync } from 'node:fs'
import type { ToolRegistry } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'

/** A skill of a configured folder that cannot be used. */
export interface SkippedSkill {
  readonly path: string
  readonly reason: string
}

/** The skills of configured folders in a registry. */
export class ConfiguredSkills {
  readonly #registry: ToolRegistry
  #names: readonly string[] = []
  /** Which call of `open` is the newest. */
  #opened = 0

  constructor(registry: ToolRegistry) {
    this.#registry = registry
  }

  /** Registers those of these folders in place of the earlier ones, and returns what cannot be used. Never rejects. */
  async open(paths: readonly string[] = []): Promise<readonly SkippedSkill[]> {
    const opened = ++this.#opened
    if (paths.length + this.#names.length === 0) return []
    const skipped: SkippedSkill[] = []
    for (const path of paths) if (!existsSync(path)) skipped.push({ path, reason: 'there is no such folder' })
    const { loadSkills } = await import('./load-skills.ts')
    const skills = await loadSkills(paths, { onSkipped: (path, reason) => skipped.push({ path, reason }) })
    // At once, so that no session is opened in between without any.
    if (opened !== this.#opened) return []
    for (const name of this.#names) this.#registry.unregisterSkill(name)
    this.#names = skills.flatMap((skill) => {
      try {
        this.#registry.registerSkill(skill)
        return [skill.name]
      } catch (error) {
        skipped.push({ path: skill.name, reason: describeError(error) })
        return []
      }
    })
    return skipped
  }
}
